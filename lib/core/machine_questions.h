// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/machine.h"
#include "core/question.h"

namespace lw {

/// Largest share of the frames that this machine may lose and the results still be of use.
inline constexpr double kMostOwnLoss = 1e-4;

/// The questions of every command with ports. `machine` and `stall`.
inline constexpr Question kMachineQuestions[] = {
    {.name = "machine",
     .meaning = "share of the frames that our own ports, rings, pools, sockets or threads lost",
     .unit = Expectation::Unit::share,
     .asked = "at most 0.01 % of the frames, and a tenth of the loss asked for, are lost by this "
              "machine",
     .limit = "<= 0.01%",
     .where = "port and pool counters"},
    {.name = "stall",
     .meaning = "longest time for which a thread of ours stood still",
     .unit = Expectation::Unit::time,
     .asked = "no thread of ours stands still for more than 100 ms",
     .limit = "<= 100ms",
     .where = "own clock",
     .noted = true}};

/// Adds what the machine did: about losses if it has places that count them, and about stalls if
/// they were watched. `who`: "this box", "this machine". `asked_loss`: the share of the
/// frames that the path was asked to lose; none: nobody asked for a loss.
void observe(Judge& judge, const Machine& machine, std::string_view who,
             std::optional<double> asked_loss = {});

/// The expectations of --strict-machine, as far as the command has the questions.
std::vector<Expectation> strict_machine(std::span<const Question> questions);

}  // namespace lw

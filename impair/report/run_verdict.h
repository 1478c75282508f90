// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/machine_questions.h"
#include "core/question.h"
#include "impair/report/report.h"

namespace lw::impair {

/// The questions of `roce-impair run`; the first are also those of `replay`, which has no ports and
/// no threads that could stand still.
inline constexpr Question kImpairQuestions[] = {
    kMachineQuestions[0],
    {.name = "accounts",
     .meaning = "directions whose accounts do not add up",
     .asked = "every frame is accounted for",
     .limit = "== 0",
     .where = "counters of the rules"},
    {.name = "audits",
     .meaning = "checks of stages and events that do not hold",
     .asked = "each stage does what its rule asks, within the bounds of chance, and each event is "
              "carried out",
     .limit = "== 0",
     .where = "audits of the rules"},
    {.name = "releases",
     .meaning = "directions in which a frame left too early",
     .asked = "no frame leaves before it is due",
     .limit = "== 0",
     .where = "release times"},
    {.name = "scenario",
     .meaning = "steps that failed, or were due and not done",
     .asked = "each step of the scenario takes effect",
     .limit = "== 0",
     .where = "scenario"},
    {.name = "records",
     .meaning = "records and frames that the ledger and recordings lack",
     .asked = "ledger and recordings are complete",
     .limit = "== 0",
     .where = "ledger and recordings"},
    {.name = "reached",
     .meaning = "share of the duration asked for, or of the capture",
     .unit = Expectation::Unit::share,
     .asked = "the run lasts as long as asked; a replay reads its capture to the end",
     .limit = ">= 100%",
     .where = "clock"},
    kFileQuestion,
    {.name = "links",
     .meaning = "times that a port lost its link",
     .asked = "no port loses its link, unless the scenario asks for it",
     .limit = "== 0",
     .where = "ports"},
    {.name = "errors",
     .meaning = "frames in error at the ports",
     .asked = "no port counts an error",
     .limit = "== 0",
     .where = "port counters"},
    kMachineQuestions[1],
};
inline constexpr std::span<const Question> kReplayQuestions =
    std::span<const Question>(kImpairQuestions).first(8);

/// Adds what a run or replay observed.
void observe_run(Judge& judge, const Report& report);

/// The verdict on a run so far, without expectations.
Verdict verdict_of(const Report& report);

/// What the machine lost and delayed: at the ports, and for want of room, buffers and ways out.
Machine machine_of(const Report& report);

}  // namespace lw::impair

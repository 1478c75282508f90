// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "core/time.h"

namespace lw::sim {

/// What the ranks of a job exchange. Sizes are those of nccl-tests: of the whole buffer that a rank
/// has in the end, or, of a reduce-scatter and an all-to-all, in the beginning.
enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,  // from the first rank
  pipeline,   // each rank hands on to the next what it got; nccl-tests: sendrecv
  trace,      // what a file says
};

/// How they do it.
enum class Algorithm : std::uint8_t {
  ring,              // each sends to the next; a broadcast and a pipeline: without the last step
  tree,              // all_reduce: two binary trees with half of the data each; broadcast: one
  halving_doubling,  // a power of two of ranks
  hierarchical,      // all_reduce: a ring in each group, between peers of the groups, in each group
  direct,            // all_to_all: each to all others at once
};

struct CollectiveConfig {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  std::uint64_t bytes = 0;     // see Collective
  std::uint32_t ranks = 2;     // at least 2
  std::uint32_t groups = 2;    // hierarchical: equal shares of the ranks, in their order
  std::uint32_t channels = 1;  // shares of the data that go side by side, with QPs of their own
  std::uint64_t chunk = 0;     // most bytes of a message; 0: a step is one message

  static const FigureTable& figures();
};

/// A message from a rank to another.
struct JobMessage {
  std::uint32_t from = 0, to = 0;
  std::uint32_t channel = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> after = {};  // transfers to `from` that must have arrived before
  Duration start = {};                    // not before this time of an iteration
};

/// All messages of a collective. Those of a rank are in the order in which it sends them if all may
/// be sent at once.
using Schedule = std::vector<JobMessage>;

inline constexpr std::uint32_t kMostTransfers = 4'000'000;

/// Errors (usage): the algorithm is none of this collective, or not for so many ranks or groups;
/// the data has less than a byte for each message; there are more than kMostTransfers.
Result<Schedule> schedule_of(const CollectiveConfig& config);

/// Of each message, from 1: one more than the highest among those that it waits for. Those that
/// wait for none are step 1.
std::vector<std::uint32_t> steps_of(const Schedule& schedule);

/// What algorithm bandwidth (bytes over time) is multiplied by, to be comparable with a link's rate
/// for any number of ranks, as nccl-tests do (doc/PERFORMANCE.md there).
double bus_factor(Collective collective, std::uint32_t ranks) noexcept;

/// "all-reduce", "halving-doubling"
std::string_view name_of(Collective collective) noexcept;
std::string_view name_of(Algorithm algorithm) noexcept;

}  // namespace lw::sim

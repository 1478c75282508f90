// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>

#include "gen/study/ranks.h"
#include "gen/study/results.h"

namespace lw::gen::experiment {

/// What is called while an experiment runs, from the thread that called run_cells().
struct RunEvents {
  std::function<void(const Task&)> finished;               // its result is in place
  std::function<void(std::size_t, std::size_t)> progress;  // runs done, of how many; 5 times a s
};

/// Runs each task that has no result yet, on `jobs` threads of this process and on all other ranks,
/// which call serve_runs(). Repeat r has the experiment's seed plus r; who runs it makes no
/// difference. Once `stop` is true no further run begins, and those that have begun are finished.
/// `identity` is of the experiment, as the other ranks must know it. Errors (usage): another rank
/// has another experiment, or couldn't load it.
Result<void> run_cells(Results& results, unsigned jobs, Ranks& ranks, const report::Json& identity,
                       const std::atomic<bool>& stop, const RunEvents& events);

/// Runs what rank 0 hands out, until it has no more.
void serve_runs(const Results& results, unsigned jobs, Ranks& ranks, const report::Json& identity);

/// When this rank can't load the experiment: rank 0 dismisses the others, which end; another rank
/// leaves with `reason`, which rank 0 reports.
void leave(Ranks& ranks, const std::string& reason);

}  // namespace lw::gen::experiment

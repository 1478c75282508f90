// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>

#include "gen/experiment/results.h"
#include "gen/ranks/ranks.h"

namespace lw::gen::experiment {

/// Functions that are called during an experiment, in the thread that called run_cells().
struct RunEvents {
  std::function<void(const Task&)> finished;  // the task's result is stored
  // finished runs, all runs; called 5 times a second
  std::function<void(std::size_t, std::size_t)> progress;
};

/// Runs each task without a result, on `jobs` threads of this process and on all other ranks, which
/// call serve_runs(). Repeat r has the experiment's seed plus r, on whatever thread it runs. After
/// `stop` is true no run begins, and those in progress are finished. `identity`: that of the
/// experiment, which must be equal on all ranks. Errors (usage): another rank has another
/// experiment, or couldn't load it.
Result<void> run_cells(ExperimentResults& results, unsigned jobs, Ranks& ranks,
                       const report::Json& identity, const std::atomic<bool>& stop,
                       const RunEvents& events);

/// Runs the tasks that rank 0 sends, until there are no more.
void serve_runs(const ExperimentResults& results, unsigned jobs, Ranks& ranks,
                const report::Json& identity);

/// Call if this rank can't load the experiment. On rank 0, ends the other ranks; on another rank,
/// sends `reason` to rank 0, which reports it.
void leave(Ranks& ranks, const std::string& reason);

}  // namespace lw::gen::experiment

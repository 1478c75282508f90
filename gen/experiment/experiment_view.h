// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>

#include "gen/experiment/results.h"
#include "report/live_view.h"

namespace lw::gen::experiment {

/// Shows the progress of an experiment: a line in a terminal, or the live view. Called by the
/// thread that runs run_cells().
class ExperimentView {
 public:
  /// `results` and `stop` must outlive it.
  ExperimentView(const ExperimentResults& results, const std::atomic<bool>& stop, bool live);

  /// Call it after the result of a run was stored.
  void finished(const Task& task);
  /// `done` of `all` runs have a result.
  void progress(std::size_t done, std::size_t all);
  /// Shows the last figures and ends the view.
  void end();

 private:
  [[nodiscard]] report::LiveModel model(Instant now) const;
  [[nodiscard]] std::string status(Instant now) const;
  [[nodiscard]] report::LiveSection counts() const;
  [[nodiscard]] report::LiveSection last_results() const;
  [[nodiscard]] std::size_t cells_done() const;
  [[nodiscard]] std::string progress_bar() const;

  const ExperimentResults& results_;
  const std::atomic<bool>& stop_;
  report::LiveView view_;
  Instant begin_;
  std::size_t done_ = 0, all_ = 0;     // runs
  std::optional<std::size_t> before_;  // finished runs at the start of this session
  std::deque<Task> newest_;            // newest first
};

}  // namespace lw::gen::experiment

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>

#include "gen/study/results.h"
#include "report/live_view.h"

namespace lw::gen::experiment {

/// Shows how far an experiment has come: a line in a terminal, or the live view. The thread that
/// runs run_cells() calls it.
class ExperimentView {
 public:
  /// `results` and `stop` outlive it.
  ExperimentView(const Results& results, const std::atomic<bool>& stop, bool live);

  /// A run's result is in place.
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

  const Results& results_;
  const std::atomic<bool>& stop_;
  report::LiveView view_;
  Instant begin_;
  std::size_t done_ = 0, all_ = 0;     // runs
  std::optional<std::size_t> before_;  // runs that were done when this session began
  std::deque<Task> newest_;            // the newest first
};

}  // namespace lw::gen::experiment

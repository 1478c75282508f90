// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/experiment_view.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "gen/experiment/result_files.h"

namespace lw::gen::experiment {
namespace {

using report::Align;

constexpr std::size_t kNewest = 64;  // results on the screen

Instant view_now() {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// Formats a time: "8 s", "12 min", "3.5 h".
std::string rough_time(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Formats the table's figures of a cell, from its finished runs: "average_gbps 98.03, ...".
std::string figures_text(const ExperimentResults& results, const Task& task) {
  if (const std::string why = results.failure(task); !why.empty()) return "FAILED: " + why;
  std::string text;
  const auto& scenario = results.profile.scenarios[results.cells[task.cell].scenario];
  for (const std::string& name : scenario.show)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, results.words(task.cell, name));
  return text;
}

}  // namespace

ExperimentView::ExperimentView(const ExperimentResults& results, const std::atomic<bool>& stop,
                               bool live)
    : results_(results),
      stop_(stop),
      view_({.mode = live ? report::LiveMode::full : report::LiveMode::brief}),
      begin_(view_now()) {
  view_.start(begin_);
}

void ExperimentView::finished(const Task& task) {
  if (!view_.shows()) return;
  newest_.push_front(task);
  if (newest_.size() > kNewest) newest_.pop_back();
}

void ExperimentView::progress(std::size_t done, std::size_t all) {
  done_ = done;
  all_ = all;
  if (!before_) before_ = done;
  const Instant now = view_now();
  if (view_.due(now)) view_.show(now, model(now));
}

void ExperimentView::end() {
  if (view_.shows()) view_.finish(model(view_now()));
}

/// Returns the status line. The time left is estimated from the runs of this session.
std::string ExperimentView::status(Instant now) const {
  const auto seconds = static_cast<double>((now - begin_).count()) * 1e-9;
  std::string text = rough_time(seconds);
  if (done_ == all_) return text + ", ended";
  if (stop_) return text + "; the runs that have begun are finished, Ctrl-C again ends at once";
  const auto here = static_cast<double>(done_ - before_.value_or(done_));
  if (here < 1) return text;
  return text +
         fmt::format(", {} left", rough_time(seconds / here * static_cast<double>(all_ - done_)));
}

std::size_t ExperimentView::cells_done() const {
  const auto is_done = [](const auto& runs) {
    return std::ranges::none_of(runs, [](const report::Json& run) { return run.is_null(); });
  };
  return static_cast<std::size_t>(std::ranges::count_if(results_.runs, is_done));
}

report::LiveSection ExperimentView::counts() const {
  const std::size_t cells = cells_done(), failed = failed_runs(results_).size();
  return {.columns = {{"", Align::left},
                      {"done", Align::right},
                      {"left", Align::right},
                      {"failed", Align::right},
                      {"", Align::left}},
          .rows = {{"cells", fmt::to_string(cells), fmt::to_string(results_.cells.size() - cells),
                    "", ""},
                   {"runs", fmt::to_string(done_), fmt::to_string(all_ - done_),
                    fmt::to_string(failed), progress_bar()}}};
}

std::string ExperimentView::progress_bar() const {
  constexpr std::size_t kWidth = 30;
  const double share = all_ > 0 ? static_cast<double>(done_) / static_cast<double>(all_) : 1;
  return report::bar(share, kWidth);
}

report::LiveSection ExperimentView::last_results() const {
  report::LiveSection section{.title = "newest results",
                              .columns = {{"cell", Align::right}, {"scenario"}, {"swept"}, {""}}};
  for (const Task& task : newest_)
    section.rows.push_back({fmt::to_string(task.cell + 1),
                            results_.profile.scenarios[results_.cells[task.cell].scenario].name,
                            swept_point(results_, task.cell), figures_text(results_, task)});
  return section;
}

report::LiveModel ExperimentView::model(Instant now) const {
  const std::size_t failed = failed_runs(results_).size();
  const std::string failures = failed > 0 ? fmt::format("{} runs failed", failed) : "";
  report::LiveModel model{
      .title = "roce-gen experiment " + results_.profile.name,
      .status = status(now),
      .colour = failed > 0 ? Colour::red : Colour::green,
      .verdict_text = failed > 0 ? failures : "no run failed",
      .sections = {counts(), last_results()},
      .line = fmt::format("[{}] {} of {} runs, {}", progress_bar(), done_, all_, status(now))};
  if (failed > 0) model.line += ", " + failures;
  return model;
}

}  // namespace lw::gen::experiment

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/search_view.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/report/live_flows.h"

namespace lw::gen {
namespace {

using report::Align;

constexpr std::size_t kNewestTrials = 32;

std::string percent_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string bound_text(const std::optional<Trial>& trial) {
  return trial ? format_bit_rate(trial->wire_bps) : "-";
}

}  // namespace

SearchView::SearchView(std::string title, const SearchConfig& config, std::size_t sizes)
    : title_(std::move(title)), config_(config), sizes_(sizes) {}

void SearchView::begin_trial(std::uint64_t size, double fraction) {
  if (bounds_.empty() || bounds_.back().size != size) bounds_.push_back({size, {}, {}, 0});
  ++bounds_.back().trials;
  ++trials_;
  fraction_ = fraction;
}

void SearchView::end_trial(const Trial& trial) {
  SizeBounds& bounds = bounds_.back();
  const TrialEnd end = end_of(trial, config_);
  (end == TrialEnd::passed ? bounds.passes : bounds.fails) = trial;
  newest_.push_front({fmt::to_string(trials_), fmt::format("{} B", bounds.size),
                      percent_text(fraction_), format_bit_rate(trial.wire_bps),
                      fmt::to_string(trial.sent), fmt::to_string(trial.lost()),
                      std::string(name_of(end))});
  if (newest_.size() > kNewestTrials) newest_.pop_back();
}

report::LiveSection SearchView::trial_section(const ProgressNow& now) const {
  const FlowProgress all = total_of(now.flows), before = total_of(now.before);
  const double seconds = static_cast<double>(now.span.count()) * 1e-9;
  const auto per_second = [&](std::uint64_t value, std::uint64_t old) {
    return seconds > 0 && value >= old ? static_cast<double>(value - old) / seconds : 0;
  };
  return {.columns = {{""}, {""}},
          .rows = {{"trial", fmt::format("{}: {} B messages at {} of the highest rate", trials_,
                                         bounds_.back().size, percent_text(fraction_))},
                   {"rate", rate_text(8 * per_second(all.sent_wire_bytes, before.sent_wire_bytes),
                                      per_second(all.sent_frames, before.sent_frames))},
                   {"sent", fmt::format("{} frames, {} not sent", all.sent_frames, all.not_sent)}}};
}

report::LiveSection SearchView::bounds_section() const {
  report::LiveSection section{.title = "bounds",
                              .columns = {{"message", Align::right},
                                          {"passes", Align::right},
                                          {"fails", Align::right},
                                          {"trials", Align::right}}};
  for (const SizeBounds& bounds : bounds_)
    section.rows.push_back({fmt::format("{} B", bounds.size), bound_text(bounds.passes),
                            bound_text(bounds.fails), fmt::to_string(bounds.trials)});
  return section;
}

report::LiveSection SearchView::results_section() const {
  return {.title = "newest trials",
          .columns = {{"trial", Align::right},
                      {"message", Align::right},
                      {"of the highest", Align::right},
                      {"rate", Align::right},
                      {"sent", Align::right},
                      {"lost", Align::right},
                      {"result"}},
          .rows = {newest_.begin(), newest_.end()}};
}

report::LiveModel SearchView::model(const ProgressNow& now) const {
  if (bounds_.empty()) return {.title = title_};
  const SizeBounds& bounds = bounds_.back();
  report::LiveModel model{
      .title = title_,
      .status = fmt::format("size {} of {}", bounds_.size(), sizes_),
      .sections = {bounds_section(), results_section()},
      .line = fmt::format("size {} of {}, {} B: trial {} at {}; passes {}, fails {}",
                          bounds_.size(), sizes_, bounds.size, trials_, percent_text(fraction_),
                          bound_text(bounds.passes), bound_text(bounds.fails))};
  if (now.ended) {
    model.status += ", ended";
  } else {
    model.sections.insert(model.sections.begin(), trial_section(now));
  }
  return model;
}

}  // namespace lw::gen

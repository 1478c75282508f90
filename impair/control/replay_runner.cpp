// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/replay_runner.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "impair/limits.h"

namespace lw::impair {
namespace {

constexpr Instant kNever = Instant::max();

std::vector<CaptureIo> capture_ios(std::span<const emulator::Direction> directions,
                                   ReplayState& state) {
  std::vector<CaptureIo> ios;
  for (const emulator::Direction direction : directions) ios.emplace_back(direction, state);
  return ios;
}

}  // namespace

ReplayRunner::ReplayRunner(const LiveProfile::Version& version, const emulator::LinkConfig& link,
                           std::span<const emulator::Direction> directions, LedgerFile* ledger,
                           RecordingFile* recording, capture::Writer writer)
    : live_(version),
      ledger_(ledger),
      recording_(recording),
      state_(std::move(writer)),
      forwarder_(version.profile, link, capture_ios(directions, state_), ledger),
      names_(rule_names_of(version.profile)),
      log_(0, [this](const Change& change) {
        if (ledger_) ledger_->note(change);
        if (recording_) recording_->note(change);
      }) {
  if (recording) {
    recorder_.emplace(*recording);
    for (const emulator::Direction direction : directions)
      forwarder_.record(direction, &*recorder_);
  }
  schedule_.begin(version.profile.scenario);
  scenario_.all = version.profile.scenario.size();
}

/// Error: the profile has filters or pause frames, which need Ethernet, and the link type is
/// another.
Result<void> ReplayRunner::check_link_type(const config::ImpairProfile& profile) const {
  if (link_type_ == roce::LinkType::ethernet) return {};
  const auto filters = [](const auto& rule) { return rule.match.expression.has_value(); };
  if (std::ranges::any_of(profile.rules, filters))
    return fail("the profile's filters are for Ethernet, which this capture's link type isn't");
  const auto pauses = [](const auto& rule) { return rule.pauses() != nullptr; };
  if (forwarder_.both() && std::ranges::any_of(profile.rules, pauses))
    return fail(
        "the profile's pause frames (pfc) are Ethernet's, which this capture's link type "
        "isn't");
  return {};
}

Result<void> ReplayRunner::replay(const Arriving& frame) {
  if (frame.link != link_type_) {
    link_type_ = frame.link;
    if (auto fits = check_link_type(live_.now().profile); !fits) return fits;
  }
  if (first_ && frame.record.stamp < state_.now) ++stamps_backwards_;
  const Instant now = first_ ? std::max(frame.record.stamp, state_.now) : frame.record.stamp;
  if (!first_) first_ = now;
  if (auto advanced = advance(now); !advanced) return advanced;
  state_.now = now;
  state_.arriving[static_cast<std::size_t>(frame.direction)] =
      state_.frames.copy(frame.record, frame.link);
  return poll(true);
}

std::optional<Instant> ReplayRunner::next_step() const {
  const Schedule::Item* item = schedule_.next(first_);
  return item ? item->due(first_) : std::nullopt;
}

Result<void> ReplayRunner::poll(bool receiving) {
  forwarder_.poll_together(receiving);
  if (forwarder_.pauses_sent() > kMostPauseFrames)
    return fail(
        fmt::format("the queues ask for more than {} pause frames: a pause of 65,535 quanta "
                    "at a low rate lasts for hours, in which a full queue repeats its own; "
                    "a lower link of pfc makes fewer",
                    kMostPauseFrames),
        ExitCode::failed);
  if (state_.failure) return std::unexpected(*state_.failure);
  return {};
}

Result<void> ReplayRunner::advance(Instant until) {
  while (true) {
    const auto step = next_step();
    const Instant work = forwarder_.next_work();
    if (step && *step <= until && *step < work) {
      // After the last frame a step has no effect.
      if (until == kNever && forwarder_.inside() == 0) return {};
      state_.now = *step;
      if (auto taken = take_step(*schedule_.next(first_)); !taken) return taken;
      schedule_.pop(first_);
    } else if (work <= until && work != kNever) {
      state_.now = std::max(work, state_.now);
    } else {
      return {};
    }
    if (auto polled = poll(false); !polled) return polled;
  }
}

Result<void> ReplayRunner::take_step(const Schedule::Item& item) {
  const config::ScenarioStep& step = item.step;
  const Effect effect{.at = state_.now, .zero = first_, .first_frames = forwarder_.next_numbers()};
  ++scenario_.done;
  if (step.links) {
    forwarder_.set_links(*step.links);
    log_.add(effect, item.by(), link_changes(*step.links));
  }
  if (step.edits.empty()) return {};
  auto next = live_.stepped(step);
  if (!next) return std::unexpected(next.error());
  if (auto fits = check_link_type(next->profile); !fits) return fits;
  CaptureForwarder::Configuration configuration(next->profile, names_, forwarder_.both());
  names_ = configuration.names();
  forwarder_.replace(configuration);
  if (ledger_) ledger_->learn(names_);
  if (recording_) recording_->learn(names_);
  log_.add(effect, item.by(), live_.differences(*next));
  ended_.add(effect, configuration.pipelines(), next->profile.rules);
  live_.keep(std::move(*next));
  return {};
}

Result<void> ReplayRunner::finish() {
  if (auto advanced = advance(kNever); !advanced) return advanced;
  forwarder_.flush_ledger();
  report_at_end(state_.writer.close());
  return {};
}

void ReplayRunner::report(Report& report) const {
  report.seconds = first_ ? static_cast<double>((state_.now - *first_).count()) * 1e-9 : 0;
  report.directions = forwarder_.report(false);
  std::ranges::for_each(report.directions, audit);
  report.stamps_backwards = stamps_backwards_;
  if (scenario_.all > 0) report.scenario = scenario_;
  add_changes(report, log_, ended_);
}

}  // namespace lw::impair

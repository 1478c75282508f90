// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/virtual_bump.h"

#include <algorithm>
#include <memory>

#include "impair/datapath/configuration.h"

namespace lw::impair {
namespace {

constexpr Instant kNever = Instant::max();

/// A direction by itself has nobody to tell of connections.
std::shared_ptr<emulator::CmExchange> exchange_for(std::size_t ways) {
  return ways > 1 ? std::make_shared<emulator::CmExchange>() : nullptr;
}

}  // namespace

VirtualBump::VirtualBump(const LiveProfile::Version& version, const emulator::LinkConfig& link,
                         std::span<const emulator::Direction> directions, LedgerFile* ledger,
                         RecordingFile* recording, capture::Writer writer)
    : live_(version),
      ledger_(ledger),
      recording_(recording),
      writer_(std::move(writer)),
      names_(rule_names_of(version.profile)) {
  const auto exchange = exchange_for(directions.size());
  for (const emulator::Direction direction : directions)
    ways_.emplace_back(pipeline_of(version.profile, direction, {}, exchange), link,
                       VirtualWay::Surroundings{&frames_, &writer_, ledger, recording});
  if (both())
    for (VirtualWay& way : ways_) way.join(pauses_);
  agenda_.begin(version.profile.scenario);
  scenario_.all = version.profile.scenario.size();
}

VirtualWay& VirtualBump::way(emulator::Direction direction) noexcept {
  return *std::ranges::find(ways_, direction, &VirtualWay::direction);
}

/// Filters are for Ethernet, and pause frames are its own.
Result<void> VirtualBump::fits(const config::ImpairProfile& profile) const {
  if (link_type_ == roce::LinkType::ethernet) return {};
  const auto filters = [](const auto& rule) { return rule.match.expression.has_value(); };
  if (std::ranges::any_of(profile.rules, filters))
    return fail("the profile's filters are for Ethernet, which this capture's link type isn't");
  const auto pauses = [](const auto& rule) { return rule.queue && rule.queue->pfc; };
  if (both() && std::ranges::any_of(profile.rules, pauses))
    return fail(
        "the profile's pause frames (pfc) are Ethernet's, which this capture's link type "
        "isn't");
  return {};
}

Result<void> VirtualBump::take(const Arriving& frame) {
  if (frame.link != link_type_) {
    link_type_ = frame.link;
    if (auto fit = fits(live_.now().profile); !fit) return fit;
  }
  if (first_ && frame.record.stamp < now_) ++stamps_backwards_;
  const Instant now = std::max(frame.record.stamp, now_);
  if (!first_) first_ = now;
  if (auto advanced = advance(now); !advanced) return advanced;
  now_ = now;
  way(frame.direction).admit(frames_.put(frame.record, frame.link), now);
  for (VirtualWay& each : ways_) each.flush_ledger();
  return let_out();
}

std::optional<Instant> VirtualBump::next_step() const {
  const Agenda::Item* item = agenda_.next(first_);
  return item ? item->due(first_) : std::nullopt;
}

Instant VirtualBump::next_work() const noexcept {
  Instant next = kNever;
  for (const VirtualWay& way : ways_) next = std::min(next, way.next_work());
  return next;
}

std::size_t VirtualBump::inside() const noexcept {
  std::size_t frames = 0;
  for (const VirtualWay& way : ways_) frames += way.link().inside();
  return frames;
}

Result<void> VirtualBump::advance(Instant until) {
  while (true) {
    const auto step = next_step();
    const Instant work = next_work();
    if (step && *step <= until && *step < work) {
      // Behind the last frame there is nobody for whom it would make a difference.
      if (until == kNever && inside() == 0) return {};
      now_ = *step;
      if (auto taken = take_step(agenda_.next(first_)->step); !taken) return taken;
      agenda_.pop(first_);
    } else if (work <= until && work != kNever) {
      now_ = work;
      for (VirtualWay& way : ways_) way.release(now_);
    } else {
      return {};
    }
    if (auto written = let_out(); !written) return written;
  }
}

/// What is on the way out leaves now, with what the two directions have to say to each other: the
/// first one hears the second's answer in the second round.
Result<void> VirtualBump::let_out() {
  if (both())
    for (int round = 0; round < 2; ++round)
      for (VirtualWay& way : ways_) way.exchange_pauses(now_);
  for (VirtualWay& way : ways_)
    if (auto written = way.write(now_); !written) return written;
  return {};
}

Result<void> VirtualBump::take_step(const config::ScenarioStep& step) {
  ++scenario_.done;
  if (step.links)
    for (VirtualWay& way : ways_) way.set_links(*step.links);
  if (step.edits.empty()) return {};
  auto next = live_.stepped(step);
  if (!next) return std::unexpected(next.error());
  if (auto fit = fits(next->profile); !fit) return fit;
  const auto exchange = exchange_for(ways_.size());
  for (VirtualWay& way : ways_) {
    const auto& known = way.link().pipeline().rule_names();
    way.replace(pipeline_of(next->profile, way.direction(), known, exchange), now_);
    names_[static_cast<std::size_t>(way.direction())] = way.link().pipeline().rule_names();
  }
  if (ledger_) ledger_->learn(names_);
  if (recording_) recording_->learn(names_);
  live_.keep(std::move(*next));
  return {};
}

Result<void> VirtualBump::finish() {
  if (auto advanced = advance(kNever); !advanced) return advanced;
  for (VirtualWay& way : ways_) way.flush_ledger();
  return writer_.close();
}

void VirtualBump::report(Report& report) const {
  report.seconds = first_ ? static_cast<double>((now_ - *first_).count()) * 1e-9 : 0;
  for (const VirtualWay& way : ways_) report.directions.push_back(way.report());
  report.stamps_backwards = stamps_backwards_;
  if (scenario_.all > 0) report.scenario = scenario_;
}

}  // namespace lw::impair

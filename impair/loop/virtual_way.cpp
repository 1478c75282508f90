// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/virtual_way.h"

#include <algorithm>

#include "impair/loop/configuration.h"
#include "impair/loop/sizing.h"

namespace lw::impair {
namespace {

constexpr Instant kNever = path::ReleaseQueue<FrameStore::Handle, StoreAccess>::kNever;

}  // namespace

VirtualWay::VirtualWay(const LiveProfile::Version& version, path::Direction direction,
                       LedgerFile* ledger, RecordingFile* recording, capture::Writer writer)
    : live_(version),
      direction_(direction),
      ledger_(ledger),
      recording_(recording),
      lane_(pipeline_of(version.profile, direction), lane_config(version.profile), ledger,
            StoreAccess(frames_)),
      writer_(std::move(writer)),
      names_(rule_names_of(version.profile)) {
  agenda_.begin(version.profile.scenario);
  scenario_.all = version.profile.scenario.size();
}

/// Filters are for Ethernet.
Result<void> VirtualWay::fits(const profile::ImpairProfile& profile) const {
  const bool filters = std::ranges::any_of(
      profile.rules, [](const auto& rule) { return rule.match.expression.has_value(); });
  if (!filters || link_ == roce::Link::ethernet) return {};
  return fail("the profile's filters are for Ethernet, which this capture's link type isn't");
}

Result<void> VirtualWay::take(const capture::Record& record, roce::Link link) {
  if (link != link_) {
    link_ = link;
    if (auto fit = fits(live_.now().profile); !fit) return fit;
  }
  if (first_ && record.stamp < now_) ++stamps_backwards_;
  const Instant now = std::max(record.stamp, now_);
  if (!first_) first_ = now;
  if (auto advanced = advance(now); !advanced) return advanced;
  now_ = now;
  admit(frames_.put(record, link), now);
  lane_.flush_ledger();
  return drain(now);
}

void VirtualWay::admit(FrameStore::Handle handle, Instant now) {
  const auto& frame = frames_[handle];
  const auto length = static_cast<std::uint32_t>(frame.bytes.size());
  if (recording_) as_it_came_ = frame.bytes;
  path::LedgerRecord told;
  Sighting sighting{now, length, frame.wire_length, false, {}};
  bool kept = false;
  if (way_in_) {
    kept = lane_.admit(handle, frame.envelope(), now, &told);
  } else {
    lane_.turn_away(frame.envelope(), now, &told);
  }
  sighting.record = told;
  if (recording_) recording_->write(sighting, as_it_came_);
  if (!kept) frames_.free(handle);
}

std::optional<Instant> VirtualWay::next_step() const {
  const Agenda::Item* item = agenda_.next(first_);
  return item ? item->due(first_) : std::nullopt;
}

/// What is due at the very instant of a step leaves before it.
Result<void> VirtualWay::advance(Instant now) {
  while (true) {
    const auto step = next_step();
    const Instant release = lane_.next_release();
    if (step && *step <= now && *step < release) {
      // Behind the last frame there is nobody for whom it would make a difference.
      if (now == kNever && lane_.inside() == 0) return {};
      now_ = *step;
      if (auto taken = take_step(agenda_.next(first_)->step, now_); !taken) return taken;
      agenda_.pop(first_);
    } else if (release <= now && release != kNever) {
      now_ = release;
      lane_.release(now_);
      if (auto drained = drain(now_); !drained) return drained;
    } else {
      return {};
    }
  }
}

Result<void> VirtualWay::take_step(const profile::ScenarioStep& step, Instant now) {
  ++scenario_.done;
  if (step.links) set_links(*step.links);
  if (step.edits.empty()) return {};
  auto next = live_.stepped(step);
  if (!next) return std::unexpected(next.error());
  if (auto fit = fits(next->profile); !fit) return fit;
  Lane::Standby standby(pipeline_of(next->profile, direction_, lane_.pipeline().rule_names()));
  lane_.replace(standby, now);
  names_[static_cast<std::size_t>(direction_)] = lane_.pipeline().rule_names();
  if (ledger_) ledger_->learn(names_);
  if (recording_) recording_->learn(names_);
  live_.keep(std::move(*next));
  return {};
}

void VirtualWay::set_links(const profile::LinkChange& change) {
  const bool east = direction_ == path::Direction::west_to_east;
  if (east ? change.west : change.east) way_in_ = change.up;
  if (east ? change.east : change.west) way_out_ = change.up;
}

Result<void> VirtualWay::finish() {
  if (auto advanced = advance(kNever); !advanced) return advanced;
  lane_.flush_ledger();
  return writer_.close();
}

Result<void> VirtualWay::drain(Instant now) {
  if (!way_out_)
    lane_.lose_egress([this](auto handle) { return frames_[handle].envelope(); },
                      [this](auto handle) { frames_.free(handle); });
  while (!lane_.egress().empty()) {
    const auto out = lane_.egress();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto handle = out[i];
      const auto& frame = frames_[handle];
      if (recording_)
        recording_->write(
            {now, static_cast<std::uint32_t>(frame.bytes.size()), frame.wire_length, true,
             record_of(lane_.egress_transit(i), lane_.egress_number(i), direction_)},
            frame.bytes);
      auto written = writer_.write(now, frame.bytes, frame.wire_length, frame.interface);
      if (!written) return written;
      frames_.free(handle);
    }
    lane_.sent(out.size(), now);
  }
  return {};
}

void VirtualWay::report(Report& report) const {
  report.seconds = first_ ? static_cast<double>((now_ - *first_).count()) * 1e-9 : 0;
  report.directions.push_back({lane_.books(), spread_of(lane_.release_error()),
                               spread_of(lane_.pass_latency()), stages_of(lane_.pipeline()),
                               events_of(lane_.pipeline())});
  report.stamps_backwards = stamps_backwards_;
  if (scenario_.all > 0) report.scenario = scenario_;
}

}  // namespace lw::impair

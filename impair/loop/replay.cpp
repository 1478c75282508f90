// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/replay.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "capture/reader.h"
#include "capture/writer.h"
#include "impair/ledger/ledger_file.h"
#include "impair/loop/configuration.h"
#include "impair/loop/frame_store.h"
#include "impair/loop/sizing.h"
#include "impair/recording/recording_file.h"
#include "impair/scenario/agenda.h"
#include "path/lane.h"

namespace lw::impair {
namespace {

using Lane = path::Lane<FrameStore::Handle, StoreAccess>;
using Queue = path::ReleaseQueue<FrameStore::Handle, StoreAccess>;

/// A pcapng file may describe an interface anywhere, but the copy describes all of them first.
/// Standard input can't be read twice: what stands before the first frame must do.
Result<std::vector<capture::Interface>> interfaces_of(const std::string& path) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    const auto record = reader->next();
    if (!record || !*record) return reader->interfaces();
  }
}

constexpr std::string_view kNoFilters =
    "the profile's filters are for Ethernet, which this capture's link type isn't";

bool has_filters(const profile::ImpairProfile& profile) {
  return std::ranges::any_of(profile.rules,
                             [](const auto& rule) { return rule.match.expression.has_value(); });
}

/// One direction in virtual time: a capture in, a capture out.
class Replay {
 public:
  Replay(const LiveProfile::Version& version, path::Direction direction, LedgerFile* ledger,
         RecordingFile* recording, capture::Writer writer)
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

  Result<void> take(const capture::Record& record, roce::Link link);
  /// Nothing more comes in: lets out all that is inside.
  Result<void> finish();
  void report(Report& report) const;

 private:
  void admit(FrameStore::Handle handle, Instant now);
  Result<void> advance(Instant now);
  Result<void> take_step(const profile::ScenarioStep& step, Instant now);
  void set_links(const profile::LinkChange& change);
  [[nodiscard]] std::optional<Instant> next_step() const;
  Result<void> drain(Instant now);

  LiveProfile live_;
  path::Direction direction_;
  LedgerFile* ledger_;
  RecordingFile* recording_;
  std::vector<std::byte> as_it_came_;
  Agenda agenda_;
  ScenarioReport scenario_;
  bool way_in_ = true, way_out_ = true;  // whether the links are up
  roce::Link link_ = roce::Link::ethernet;
  FrameStore frames_;
  Lane lane_;
  capture::Writer writer_;
  std::optional<Instant> first_;
  Instant now_{Duration{std::numeric_limits<Duration::rep>::min()}};
  RuleNames names_;
  std::uint64_t stamps_backwards_ = 0;
};

Result<void> Replay::take(const capture::Record& record, roce::Link link) {
  if (first_ && record.stamp < now_) ++stamps_backwards_;
  const Instant now = std::max(record.stamp, now_);
  if (!first_) first_ = now;
  if (auto advanced = advance(now); !advanced) return advanced;
  now_ = now;
  link_ = link;
  admit(frames_.put(record, link), now);
  lane_.flush_ledger();
  return drain(now);
}

void Replay::admit(FrameStore::Handle handle, Instant now) {
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

std::optional<Instant> Replay::next_step() const {
  const Agenda::Item* item = agenda_.next(first_);
  return item ? item->due(first_) : std::nullopt;
}

/// What is due at the very instant of a step leaves before it.
Result<void> Replay::advance(Instant now) {
  while (true) {
    const auto step = next_step();
    const Instant release = lane_.next_release();
    if (step && *step <= now && *step < release) {
      // Behind the last frame there is nobody for whom it would make a difference.
      if (now == Queue::kNever && lane_.inside() == 0) return {};
      now_ = *step;
      if (auto taken = take_step(agenda_.next(first_)->step, now_); !taken) return taken;
      agenda_.pop(first_);
    } else if (release <= now && release != Queue::kNever) {
      now_ = release;
      lane_.release(now_);
      if (auto drained = drain(now_); !drained) return drained;
    } else {
      return {};
    }
  }
}

Result<void> Replay::take_step(const profile::ScenarioStep& step, Instant now) {
  ++scenario_.done;
  if (step.links) set_links(*step.links);
  if (step.edits.empty()) return {};
  auto next = live_.stepped(step);
  if (!next) return std::unexpected(next.error());
  if (link_ != roce::Link::ethernet && has_filters(next->profile))
    return fail(std::string(kNoFilters));
  Lane::Standby standby(pipeline_of(next->profile, direction_, lane_.pipeline().rule_names()));
  lane_.replace(standby, now);
  names_[static_cast<std::size_t>(direction_)] = lane_.pipeline().rule_names();
  if (ledger_) ledger_->learn(names_);
  if (recording_) recording_->learn(names_);
  live_.keep(std::move(*next));
  return {};
}

void Replay::set_links(const profile::LinkChange& change) {
  const bool east = direction_ == path::Direction::west_to_east;
  if (east ? change.west : change.east) way_in_ = change.up;
  if (east ? change.east : change.west) way_out_ = change.up;
}

Result<void> Replay::finish() {
  if (auto advanced = advance(Queue::kNever); !advanced) return advanced;
  lane_.flush_ledger();
  return writer_.close();
}

Result<void> Replay::drain(Instant now) {
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

void Replay::report(Report& report) const {
  report.seconds = first_ ? static_cast<double>((now_ - *first_).count()) * 1e-9 : 0;
  report.directions.push_back({lane_.books(), spread_of(lane_.release_error()),
                               spread_of(lane_.pass_latency()), stages_of(lane_.pipeline()),
                               events_of(lane_.pipeline())});
  report.stamps_backwards = stamps_backwards_;
  if (scenario_.all > 0) report.scenario = scenario_;
}

/// Feeds the whole capture; what stopped it early is the outcome's damage.
Result<std::optional<Error>> feed(Replay& replay, capture::Reader& reader, bool filters) {
  while (true) {
    const auto record = reader.next();
    if (!record) return record.error();
    if (!*record) return std::nullopt;
    const int type = reader.interfaces()[(*record)->interface].link_type;
    const auto link = roce::link_of(type);
    if (!link)
      return fail(fmt::format("frames of link type {} can't be read", type), ExitCode::failed);
    if (filters && link != roce::Link::ethernet)
      return fail(fmt::format("the profile's filters are for Ethernet, found link type {}", type));
    if (auto taken = replay.take(**record, *link); !taken) return std::unexpected(taken.error());
  }
}

Result<std::unique_ptr<LedgerFile>> open_ledger(const profile::ImpairProfile& profile,
                                                const ReplayConfig& config) {
  if (!config.ledger) return nullptr;
  return LedgerFile::create(*config.ledger, ledger_format_for(*config.ledger),
                            rule_names_of(profile), 0);
}

Result<std::unique_ptr<RecordingFile>> open_recording(
    const profile::ImpairProfile& profile, const ReplayConfig& config,
    const std::vector<capture::Interface>& interfaces) {
  if (!config.capture) return nullptr;
  const int type = interfaces.front().link_type;
  const auto other = [&](const capture::Interface& each) { return each.link_type != type; };
  if (std::ranges::any_of(interfaces, other))
    return fail(fmt::format("{}: frames of several link types don't go into --capture", config.in));
  return RecordingFile::create(*config.capture, rule_names_of(profile), 0, type);
}

/// All that the capture has, at least one.
Result<std::vector<capture::Interface>> all_interfaces(const capture::Reader& reader,
                                                       const ReplayConfig& config) {
  std::vector<capture::Interface> interfaces = reader.interfaces();
  if (config.in != "-") {
    auto all = interfaces_of(config.in);
    if (!all) return all;
    interfaces = std::move(*all);
  }
  if (interfaces.empty()) interfaces.emplace_back();
  return interfaces;
}

}  // namespace

Result<ReplayOutcome> replay(const LiveProfile::Version& version, const ReplayConfig& config) {
  const profile::ImpairProfile& profile = version.profile;
  auto reader = capture::Reader::open(config.in);
  if (!reader) return std::unexpected(reader.error());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  const auto interfaces = all_interfaces(*reader, config);
  if (!interfaces) return std::unexpected(interfaces.error());
  auto recording = open_recording(profile, config, *interfaces);
  if (!recording) return std::unexpected(recording.error());
  auto writer = capture::Writer::create(config.out, capture::format_for(config.out), *interfaces);
  if (!writer) return std::unexpected(writer.error());
  const auto run = std::make_unique<Replay>(version, config.direction, ledger->get(),
                                            recording->get(), std::move(*writer));
  auto damage = feed(*run, *reader, has_filters(profile));
  if (!damage) return std::unexpected(damage.error());
  if (auto finished = run->finish(); !finished) return std::unexpected(finished.error());

  ReplayOutcome outcome{
      .report = {.command = "replay", .profile = profile.name, .seed = profile.seed},
      .damage = std::move(*damage)};
  run->report(outcome.report);
  if (*ledger) {
    if (auto closed = (*ledger)->close(); !closed) return std::unexpected(closed.error());
    outcome.report.ledger = LedgerReport{*config.ledger, (*ledger)->records(), 0};
  }
  if (*recording) {
    if (auto closed = (*recording)->close({}); !closed) return std::unexpected(closed.error());
    outcome.report.capture = CaptureReport{*config.capture, (*recording)->frames(), 0};
  }
  return outcome;
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/replay.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "capture/reader.h"
#include "capture/writer.h"
#include "impair/ledger/ledger_file.h"
#include "impair/loop/frame_store.h"
#include "impair/loop/sizing.h"
#include "path/lane.h"

namespace lw::impair {
namespace {

using Lane = path::Lane<FrameStore::Handle, StoreAccess>;
using Queue = path::ReleaseQueue<FrameStore::Handle>;

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

/// One direction in virtual time: a capture in, a capture out.
class Replay {
 public:
  Replay(const profile::ImpairProfile& profile, path::Direction direction, LedgerFile* ledger,
         capture::Writer writer)
      : lane_(path::Pipeline(direction, profile.seed, profile.rules, profile.events),
              lane_config(profile), ledger, StoreAccess(frames_)),
        writer_(std::move(writer)) {}

  Result<void> take(const capture::Record& record, roce::Link link);
  /// Nothing more comes in: lets out all that is inside.
  Result<void> finish();
  void report(Report& report) const;

 private:
  Result<void> advance(Instant now);
  Result<void> drain(Instant now);

  FrameStore frames_;
  Lane lane_;
  capture::Writer writer_;
  std::optional<Instant> first_;
  Instant now_{Duration{std::numeric_limits<Duration::rep>::min()}};
  std::uint64_t stamps_backwards_ = 0;
};

Result<void> Replay::take(const capture::Record& record, roce::Link link) {
  if (first_ && record.stamp < now_) ++stamps_backwards_;
  const Instant now = std::max(record.stamp, now_);
  if (!first_) first_ = now;
  if (auto advanced = advance(now); !advanced) return advanced;
  now_ = now;
  const auto handle = frames_.put(record, link);
  if (!lane_.admit(handle, frames_[handle].envelope(), now)) frames_.free(handle);
  lane_.flush_ledger();
  return drain(now);
}

Result<void> Replay::advance(Instant now) {
  while (lane_.next_release() <= now && lane_.next_release() != Queue::kNever) {
    now_ = lane_.next_release();
    lane_.release(now_);
    if (auto drained = drain(now_); !drained) return drained;
  }
  return {};
}

Result<void> Replay::finish() {
  if (auto advanced = advance(Queue::kNever); !advanced) return advanced;
  lane_.flush_ledger();
  return writer_.close();
}

Result<void> Replay::drain(Instant now) {
  while (!lane_.egress().empty()) {
    const auto out = lane_.egress();
    for (const auto handle : out) {
      const auto& frame = frames_[handle];
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
                               events_of(lane_.pipeline().events())});
  report.stamps_backwards = stamps_backwards_;
}

bool has_filters(const profile::ImpairProfile& profile) {
  return std::ranges::any_of(profile.rules,
                             [](const auto& rule) { return rule.match.expression.has_value(); });
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

RuleNames rule_names(const profile::ImpairProfile& profile) {
  RuleNames names;
  for (const auto direction : {path::Direction::west_to_east, path::Direction::east_to_west})
    names[static_cast<std::size_t>(direction)] =
        path::Pipeline(direction, profile.seed, profile.rules).rule_names();
  return names;
}

Result<std::unique_ptr<LedgerFile>> open_ledger(const profile::ImpairProfile& profile,
                                                const ReplayConfig& config) {
  if (!config.ledger) return nullptr;
  return LedgerFile::create(*config.ledger, rule_names(profile), 0);
}

Result<capture::Writer> open_writer(const capture::Reader& reader, const ReplayConfig& config) {
  std::vector<capture::Interface> interfaces = reader.interfaces();
  if (config.in != "-") {
    auto all = interfaces_of(config.in);
    if (!all) return std::unexpected(all.error());
    interfaces = std::move(*all);
  }
  if (interfaces.empty()) interfaces.emplace_back();
  return capture::Writer::create(config.out, capture::format_for(config.out), interfaces);
}

}  // namespace

Result<ReplayOutcome> replay(const profile::ImpairProfile& profile, const ReplayConfig& config) {
  auto reader = capture::Reader::open(config.in);
  if (!reader) return std::unexpected(reader.error());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  auto writer = open_writer(*reader, config);
  if (!writer) return std::unexpected(writer.error());
  const auto run =
      std::make_unique<Replay>(profile, config.direction, ledger->get(), std::move(*writer));
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
  return outcome;
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "capture/reader.h"
#include "gen/receive/receiver.h"
#include "roce/envelope.h"

namespace lw::gen {
namespace {

constexpr std::uint64_t kFramesBetweenLooks = 1024;  // at whether somebody asked to stop

/// Whether the stamp can be of the clock that the frame's signature was stamped by. Frames without
/// one don't mind.
bool same_clock(const roce::Envelope& envelope, Instant stamp) noexcept {
  const auto frame = roce::parse(envelope);
  if (!frame) return false;
  const auto* signature = wire::view<wire::Signature>(frame->payload);
  if (signature == nullptr || !signature->present()) return false;
  constexpr std::int64_t kLongest = 3'600'000'000'000;
  const auto sent = static_cast<std::int64_t>(signature->send_time_ns.get());
  return to_ns(stamp) >= sent && to_ns(stamp) - sent < kLongest;
}

}  // namespace

Result<ReceiveReport> receive_file(const std::string& path, Measurement& measurement,
                                   const Limits& limits) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  std::optional<Instant> first;
  Instant last{};
  for (std::uint64_t taken = 0; taken < limits.count; ++taken) {
    if (taken % kFramesBetweenLooks == 0 && limits.stopped()) break;
    const auto record = reader->next();
    if (!record) return std::unexpected(record.error());
    if (!*record) break;
    const capture::Record& frame = **record;
    const auto link = roce::link_of(reader->interfaces()[frame.interface].link_type);
    if (!link) continue;
    const auto envelope = roce::open_envelope(frame.bytes, frame.wire_length, *link);
    measurement.take(envelope, frame.stamp, same_clock(envelope, frame.stamp));
    first = first.value_or(frame.stamp);
    last = std::max(last, frame.stamp);
  }
  measurement.settle();
  return ReceiveReport{.missed = 0, .elapsed = first ? last - *first : Duration{0}};
}

}  // namespace lw::gen

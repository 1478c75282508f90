// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gen/receive/measurement.h"
#include "gen/traffic/tx_scheduler.h"
#include "roce/envelope.h"
#include "wire/signature.h"

namespace lw::test {

struct StampedFrame {
  std::vector<std::byte> bytes;
  Instant sent;
};

/// All frames of a profile, as they leave: at their due times, from a clock that starts at 1 s.
inline std::vector<StampedFrame> frames_of_profile(const std::string& text,
                                                   config::Origin origin = {}) {
  auto profile = config::parse_flow_profile(text, "test");
  if (!profile) throw std::runtime_error(profile.error().message);
  for (config::Flow& flow : profile->flows) flow.origin = origin;
  gen::TxScheduler scheduler(*profile);
  std::vector<StampedFrame> frames;
  for (; scheduler.next(); scheduler.advance()) {
    auto due = *scheduler.next();
    const Instant at = instant_from_ns(1'000'000'000) + due.at;
    due.fields.send_time_ns = static_cast<std::uint64_t>(to_ns(at));
    frames.push_back({std::vector<std::byte>(due.frame->size()), at});
    due.frame->write(due.fields, frames.back().bytes);
  }
  return frames;
}

/// Makes a signed RC SEND over IPv4 look as if it had left at another time.
inline void stamp(StampedFrame& frame, Instant sent) {
  constexpr std::size_t kPayload = 14 + 20 + 8 + 12;
  auto* signature = wire::view_at<wire::Signature>(wire::MutableBytes(frame.bytes), kPayload);
  signature->send_time_ns.set(static_cast<std::uint64_t>(to_ns(sent)));
  frame.sent = sent;
  const auto place = roce::expected_icrc(roce::open_envelope(frame.bytes));
  wire::store_icrc(wire::MutableBytes(frame.bytes).subspan(place->offset, wire::kIcrcSize),
                   place->expected);
}

/// Changes a field of a frame's BTH, and writes the right ICRC.
inline void change(StampedFrame& frame, const std::function<void(wire::Bth&)>& edit) {
  const auto envelope = roce::open_envelope(frame.bytes);
  edit(*wire::view_at<wire::Bth>(wire::MutableBytes(frame.bytes), envelope.bth_offset()));
  const auto place = roce::expected_icrc(roce::open_envelope(frame.bytes));
  wire::store_icrc(wire::MutableBytes(frame.bytes).subspan(place->offset, wire::kIcrcSize),
                   place->expected);
}

}  // namespace lw::test

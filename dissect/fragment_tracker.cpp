// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fragment_tracker.h"

#include <utility>

#include <fmt/format.h>

namespace lw::dissect {
namespace {

constexpr std::size_t kRemembered = 65536;

}  // namespace

/// A packet is its addresses and its identification. (RFC 791, 3.2; RFC 8200, 4.5)
FragmentTracker::Packet& FragmentTracker::packet_of(const roce::Envelope& envelope) {
  const std::string key = fmt::format("{} {} {} {}", envelope.source(), envelope.destination(),
                                      envelope.protocol, envelope.fragment_id);
  const auto [found, added] = packets_.try_emplace(key);
  if (added) order_.push_back(key);
  if (order_.size() > kRemembered) {
    packets_.erase(order_.front());
    order_.pop_front();
  }
  return found->second;
}

std::uint64_t FragmentTracker::roce_frames(const roce::Envelope& envelope) {
  Packet& packet = packet_of(envelope);
  if (envelope.first_fragment) {
    // Identifications come round again, so a first fragment begins its packet anew.
    packet.told = true;
    packet.roce = envelope.is_roce();
    const std::uint64_t waited = std::exchange(packet.waiting, 0);
    return packet.roce ? waited + 1 : 0;
  }
  if (!packet.told) {
    ++packet.waiting;
    return 0;
  }
  return packet.roce ? 1 : 0;
}

}  // namespace lw::dissect

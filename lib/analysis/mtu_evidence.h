// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "analysis/packet.h"

namespace lw::analysis {

/// The number of PSNs of a READ of `length` bytes.
constexpr std::uint32_t read_span(std::uint32_t length, std::uint32_t mtu) noexcept {
  return length == 0 ? 1 : (length - 1) / mtu + 1;
}

/// What the packets of one flow show about its path MTU.
///
/// The payload of a FIRST or MIDDLE packet is the MTU; that of others is at most the MTU. The PSN
/// after a READ is as far behind the READ's as its response has packets; where the packet behind
/// the READ was lost, it seems farther, and the MTU smaller; where the rest of the READ is asked
/// for next, it seems nearer, and the MTU larger. So of the MTUs that many distances show, the
/// largest holds.
class MtuEvidence {
 public:
  void add(const CapturedPacket& packet) noexcept {
    if (packet.info->payload != wire::PayloadRule::full)
      largest_ = std::max(largest_, packet.payload);
    else if (packet.is_response())
      responses_.add(packet.payload);
    else
      requests_.add(packet.payload);
  }
  /// The request after a READ of `length` bytes comes `away` PSNs behind it.
  void add_distance(std::uint32_t length, std::int32_t away) noexcept {
    std::size_t fits = 0, fitting = 0;
    for (std::size_t i = 0; i < kMtus.size(); ++i) {
      if (away <= 0 || read_span(length, kMtus[i]) != static_cast<std::uint32_t>(away)) continue;
      ++fits;
      fitting = i;
    }
    if (fits == 1) ++distances_[fitting];
  }

  /// The path MTU of a flow of requests, in bytes. `peer`: of the flow with their responses; null:
  /// it is not known. Nothing: no packet shows the MTU.
  [[nodiscard]] std::optional<std::uint32_t> mtu(const MtuEvidence* peer) const noexcept {
    static constexpr MtuEvidence kNoEvidence;
    const MtuEvidence& other = peer != nullptr ? *peer : kNoEvidence;
    for (const Payloads* full : {&other.responses_, &requests_, &responses_, &other.requests_})
      if (full->count > 0) return full->bytes;
    const std::uint32_t least = std::max(largest_, other.largest_);
    constexpr std::uint32_t kShare = 4;  // of the most frequent distance
    std::uint32_t most = 1;
    for (std::size_t i = 0; i < kMtus.size(); ++i)
      if (kMtus[i] >= least) most = std::max(most, distances_[i]);
    for (std::size_t i = kMtus.size(); i-- > 0;)
      if (kMtus[i] >= least && kShare * distances_[i] >= most) return kMtus[i];
    return std::nullopt;
  }
  /// Payload of most FIRST and MIDDLE packets of one kind, in bytes; 0: there were none.
  [[nodiscard]] std::uint32_t of_requests() const noexcept { return requests_.bytes; }
  [[nodiscard]] std::uint32_t of_responses() const noexcept { return responses_.bytes; }
  /// Payload of the longest packet that is no FIRST or MIDDLE, in bytes.
  [[nodiscard]] std::uint32_t largest_payload() const noexcept { return largest_; }

 private:
  /// The payload that most FIRST and MIDDLE packets have.
  struct Payloads {
    std::uint32_t bytes = 0;
    std::uint32_t count = 0;  // packets with it, less those without it

    void add(std::uint32_t payload) noexcept {
      constexpr std::uint32_t kMost = 1U << 16;
      if (payload == bytes && count > 0) {
        count = std::min(count + 1, kMost);
      } else if (count == 0) {
        bytes = payload;
        count = 1;
      } else {
        --count;
      }
    }
  };

  Payloads requests_, responses_;
  std::uint32_t largest_ = 0;
  std::array<std::uint32_t, kMtus.size()> distances_{};  // READs whose next request shows this MTU
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>

#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// A response as it was seen last.
struct SeenResponse {
  Sequence psn = 0;
  std::uint64_t frame = 0;
  Instant stamp = {};
  std::uint32_t msn = 0;
  std::uint16_t ip_id = 0;
  bool begins = false;  // an answer

  /// Whether `packet`, with the same PSN, was sent again: a copy has the IP identification of its
  /// original, and its MSN. `ids_vary`: the responder's IP identifications differ.
  [[nodiscard]] bool differs(const CapturedPacket& packet, bool ids_vary) const noexcept {
    return (ids_vary && packet.ip_id != ip_id) || (packet.has_aeth && packet.msn != msn);
  }
};

/// Responses of a stream, by their PSN: 2 KiB a stream, of which there may be 40,000, from the
/// first response on.
class SeenResponses {
 public:
  [[nodiscard]] bool empty() const noexcept { return seen_ == nullptr; }
  /// The response that has the place of `psn`: with this PSN, or another one.
  [[nodiscard]] const SeenResponse& at(Sequence psn) const noexcept {
    return (*seen_)[psn % kMost];
  }
  /// Returns the response with this PSN; null: it is not remembered.
  [[nodiscard]] const SeenResponse* find(Sequence psn) const noexcept {
    return empty() || at(psn).psn != psn ? nullptr : &at(psn);
  }
  void add(const CapturedPacket& packet, Sequence psn) {
    if (empty()) seen_ = std::make_unique<std::array<SeenResponse, kMost>>();
    (*seen_)[psn % kMost] = {psn,        packet.number, packet.stamp,
                             packet.msn, packet.ip_id,  packet.begins_message()};
  }

 private:
  static constexpr std::size_t kMost = 64;
  static_assert(kMost * sizeof(SeenResponse) == 2048);

  std::unique_ptr<std::array<SeenResponse, kMost>> seen_;
};

}  // namespace lw::analysis

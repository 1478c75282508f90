// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "analysis/packet.h"

namespace lw::analysis {

/// The newest requests of a flow that ask for an answer, and how many messages were complete with
/// each.
class AskedRequests {
 public:
  struct Asked {
    std::uint32_t psn = ~0U;
    std::uint32_t messages = 0;  // of the flow, with this request
    Instant stamp = {};
  };

  /// Adds a request. `fetches`: a READ or atomic.
  void add(const CapturedPacket& packet, bool fetches) noexcept {
    const wire::Position position = packet.info->position;
    messages_ += fetches || position == wire::Position::last || position == wire::Position::only;
    if (packet.ack_req || fetches) asked_[count_++ % kMost] = {packet.psn, messages_, packet.stamp};
  }
  /// Returns the newest request with this PSN; null: it asked for no answer, or is not remembered.
  [[nodiscard]] const Asked* find(std::uint32_t psn) const noexcept {
    const std::size_t known = std::min(count_, kMost);
    for (std::size_t back = 1; back <= known; ++back)
      if (const Asked& one = asked_[(count_ - back) % kMost]; one.psn == psn) return &one;
    return nullptr;
  }
  [[nodiscard]] std::uint32_t messages() const noexcept { return messages_; }

 private:
  static constexpr std::size_t kMost = 64;

  std::array<Asked, kMost> asked_{};
  std::size_t count_ = 0;
  std::uint32_t messages_ = 0;
};

/// How well the responses of one flow answer the requests of another one.
class PairEvidence {
 public:
  /// A response with a PSN that the other flow had not sent.
  void add_early() noexcept { early_ = std::min(early_ + 1, kMost); }
  /// A response to one of `requests`. An ACK acknowledges a request that asks for it, and counts
  /// the messages that are complete (IBTA vol. 1, 9.7.7.1), of which some may be newer.
  void add(const CapturedPacket& response, const AskedRequests& requests) noexcept {
    if (answers_ == kMost) return;
    ++answers_;
    const AskedRequests::Asked* const asked = requests.find(response.psn);
    if (asked == nullptr) {
      unasked_ += response.info->operation == wire::Operation::ack;
      return;
    }
    miscounted_ +=
        response.has_aeth && (response.msn < asked->messages || response.msn > requests.messages());
    const auto after = static_cast<double>(stamp_difference(response.stamp, asked->stamp).count());
    ++times_;
    squares_ += after * after;
  }

  /// Responses that contradict the pair.
  [[nodiscard]] std::uint32_t contradictions() const noexcept {
    return early_ + miscounted_ + unasked_;
  }
  /// Mean square of the times from requests to answers, in ns^2. Of the ways to pair some flows,
  /// the right one has the lowest sum, as answers come after about the same time.
  [[nodiscard]] double mean_square() const noexcept { return times_ > 0 ? squares_ / times_ : 0; }

 private:
  static constexpr std::uint32_t kMost = 256;

  std::uint32_t early_ = 0, answers_ = 0, unasked_ = 0, miscounted_ = 0, times_ = 0;
  double squares_ = 0;
};

}  // namespace lw::analysis

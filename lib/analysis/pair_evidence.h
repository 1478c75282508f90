// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "analysis/packet.h"
#include "wire/aeth.h"
#include "wire/psn.h"

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
  /// Number of messages that were complete behind a request.
  [[nodiscard]] std::uint32_t newer_than(const Asked& asked) const noexcept {
    return messages_ - asked.messages;
  }

 private:
  static constexpr std::size_t kMost = 64;

  std::array<Asked, kMost> asked_{};
  std::size_t count_ = 0;
  std::uint32_t messages_ = 0;
};

/// How well the responses of one flow answer the requests of another one.
class PairEvidence {
 public:
  static constexpr std::uint32_t kMost = 256;

  /// Responses with PSNs that the other flow had not sent.
  void add_early(std::uint32_t count = 1) noexcept {
    answers_ = std::min(answers_ + count, kMost);
    early_ = std::min(early_ + count, kMost);
  }
  /// Responses to PSNs before the other flow's: it has sent none of them, or before the capture.
  void add_before() noexcept { before_ = true; }
  /// A response to one of `requests`. An ACK acknowledges a request that asks for it, and counts
  /// the messages that are complete (IBTA vol. 1, 9.7.7.1), of which some may be newer. A NAK names
  /// a request that its sender has not taken, whether it asks or not.
  void add(const CapturedPacket& response, const AskedRequests& requests) noexcept {
    if (answers_ == kMost) return;
    ++answers_;
    if (refuses(response)) return;
    const AskedRequests::Asked* const asked = requests.find(response.psn);
    if (asked == nullptr) {
      unasked_ += response.info->operation == wire::Operation::ack;
      return;
    }
    if (response.has_aeth)
      count_messages(response.msn - asked->messages, requests.newer_than(*asked));
    const auto after = static_cast<double>(stamp_difference(response.stamp, asked->stamp).count());
    ++times_;
    squares_ += after * after;
  }

  [[nodiscard]] std::uint32_t answers() const noexcept { return answers_; }
  /// Responses that contradict the pair.
  [[nodiscard]] std::uint32_t contradictions() const noexcept {
    return early_ + miscounted_ + unasked_ + before_;
  }
  /// Responses that fit the pair.
  [[nodiscard]] std::uint32_t fitting() const noexcept {
    return answers_ - std::min(answers_, early_ + miscounted_ + unasked_);
  }
  /// Contradictions that no responder sends for these requests.
  [[nodiscard]] std::uint32_t impossible() const noexcept {
    return early_ + std::max(miscounted_, 1U) - 1;
  }
  /// Mean square of the times from requests to answers, in ns^2. Of the ways to pair some flows,
  /// the right one has the lowest sum, as answers come after about the same time.
  [[nodiscard]] double mean_square() const noexcept { return times_ > 0 ? squares_ / times_ : 0; }

 private:
  static bool refuses(const CapturedPacket& response) noexcept {
    return response.has_aeth &&
           wire::AethFields{response.syndrome, 0}.kind() != wire::AethKind::ack;
  }
  /// A response counts `ahead` messages more than the requests up to its own, of which `newer` may
  /// be complete. What is left was complete before the capture: always the same number, unless the
  /// capture misses the end of a message.
  void count_messages(std::uint32_t ahead, std::uint32_t newer) noexcept {
    const std::int32_t most = wire::Psn::distance(wire::Psn{0}, wire::Psn{ahead});
    const std::int32_t least = most - static_cast<std::int32_t>(newer);
    const bool fits = least <= most_before_ && most >= least_before_;
    miscounted_ += !fits;
    least_before_ = fits ? std::max(least, least_before_) : least;
    most_before_ = fits ? std::min(most, most_before_) : most;
  }

  std::int32_t least_before_ = 0, most_before_ = 0;  // messages complete before the capture
  std::uint32_t early_ = 0, answers_ = 0, unasked_ = 0, miscounted_ = 0, times_ = 0;
  double squares_ = 0;
  bool before_ = false;
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analysis/extraction/ranges.h"
#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// A request that waits for its turn.
struct WaitingRequest {
  CapturedPacket packet;
  std::uint32_t span = 1;        // PSNs
  bool span_is_known = true;     // false: from 1 to `span` PSNs
  std::vector<std::byte> bytes;  // the captured payload of a SEND
};

/// Puts the requests of one direction into the order of their PSNs. Requests after a gap wait until
/// the gap is filled or too much waits.
class RequestOrder {
 public:
  static constexpr std::size_t kMostWaiting = 16384;                // requests
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of all directions together

  /// `bytes` counts the payload that waits, in all directions that share it.
  explicit RequestOrder(std::size_t& bytes) : bytes_(bytes) {}

  /// Sets the first PSN.
  void begin(Sequence psn) noexcept {
    next_ = next_end_ = psn;
    begun_ = true;
  }
  [[nodiscard]] bool has_begun() const noexcept { return begun_; }

  enum class Due : std::uint8_t { now, later, passed };
  /// Whether the request with this PSN comes next, must wait, or was passed.
  [[nodiscard]] Due due_of(Sequence psn) const noexcept;
  void wait(Sequence psn, WaitingRequest request);
  /// Marks the next request as taken.
  void advance(Sequence psn, std::uint32_t span, bool span_is_known) noexcept;
  /// Removes the waiting request that comes next; nothing: none does. `psn` becomes its PSN.
  std::optional<WaitingRequest> pop(Sequence& psn);
  /// Whether too much waits: the gap before it will not be filled.
  [[nodiscard]] bool is_full() const noexcept {
    return !waiting_.empty() && (waiting_.size() > kMostWaiting || bytes_ > kMostBytes);
  }
  [[nodiscard]] bool any_waits() const noexcept { return !waiting_.empty(); }
  /// Passes the gap before the oldest request that waits, and returns its PSNs.
  Range pass_gap() noexcept;

 private:
  std::size_t& bytes_;
  std::map<Sequence, WaitingRequest> waiting_;
  Sequence next_ = 0;      // the next PSN
  Sequence next_end_ = 0;  // if the last span isn't known, the next PSN may be up to this one
  bool begun_ = false;
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// What is assumed of a packet when it comes, or is missing, and may be taken back when later
/// packets tell more.
enum class Assumption : std::uint8_t {
  sent_again,   // its sender has sent it again
  lost,         // the packet that came in its place shows that it was lost
  lost_again,   // a recovery has skipped it: it was lost once more
  answers_nak,  // it answers a NAK
  cause,        // why the recovery that begins with it began
};
inline constexpr std::size_t kAssumptions = 5;

/// An assumption that no longer holds.
struct Revision {
  Assumption assumed{};
  Sequence psn = 0;         // of the packet that it was about
  std::uint64_t frame = 0;  // with which it was made
  std::uint64_t by = 0;     // the frame that shows that it does not hold; 0: the capture has ended

  friend bool operator==(const Revision&, const Revision&) = default;
};

/// The assumptions about packets of one stream that later packets have changed: their number, and
/// the newest ones. The class that made an assumption takes it back, and notes that here; no other
/// class changes what that one keeps.
class RevisionLog {
 public:
  static constexpr std::size_t kMost = 64;  // the newest that are kept

  /// Begins a frame, which the revisions that follow are due to; 0: the capture has ended.
  void begin(std::uint64_t frame) noexcept { frame_ = frame; }
  /// Notes that what was assumed with a frame does not hold.
  void add(Assumption assumed, Sequence psn, std::uint64_t frame) {
    ++counts_[static_cast<std::size_t>(assumed)];
    if (newest_.size() == kMost) newest_.erase(newest_.begin());
    newest_.push_back({assumed, psn, frame, frame_});
  }

  /// Number of assumptions of a kind that were taken back.
  [[nodiscard]] std::uint64_t count(Assumption assumed) const noexcept {
    return counts_[static_cast<std::size_t>(assumed)];
  }
  /// The newest revisions, oldest first.
  [[nodiscard]] std::span<const Revision> newest() const noexcept { return newest_; }

 private:
  std::uint64_t frame_ = 0;
  std::array<std::uint64_t, kAssumptions> counts_{};
  std::vector<Revision> newest_;
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace lw::gen {

/// What one arrival says about its stream.
struct Arrival {
  enum class Kind : std::uint8_t {
    in_order,       // the number that was expected
    ahead,          // beyond it: `missing` numbers were passed over
    late,           // behind it and new: reordered (RFC 4737, 3.3), `extent` arrivals too late
    duplicate,      // came before
    beyond_window,  // so far behind that nobody remembers whether it came before
  };
  Kind kind = Kind::in_order;
  std::uint64_t missing = 0;
  std::uint64_t extent = 0;
};

/// Follows one stream of sequence numbers, each of which its sender uses once.
///
/// Loss, duplication and order are exact as long as nothing comes more than kWindow numbers behind
/// the newest. What is missing is what was passed over less what came late: both come out of
/// take() and the caller adds them up. Copies are "the first to arrive" and "duplicate" (RFC 4737,
/// 3.3); duplicates don't count as arrivals when extents are measured. The reordering extent of an
/// arrival is its distance, in arrivals, from the earliest that carried a higher number (4.2.2).
///
/// A stream that is in order costs a comparison and an addition and keeps no memory of its past;
/// at the first irregularity it gets a map of kWindow bits and a list of its gaps.
class SequenceTracker {
 public:
  static constexpr std::uint64_t kWindow = 65536;

  /// `next` is the first number that is expected. Where it is only the first that was seen, numbers
  /// below it may still come (`joined`): they are late, and what lies between them is missing.
  explicit SequenceTracker(std::uint64_t next = 0, bool joined = false) noexcept
      : next_(next), floor_(next), joined_(joined) {}

  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

  Arrival take(std::uint64_t number) {
    if (number != next_ || past_ != nullptr) [[unlikely]]
      return take_irregular(number);
    ++next_;
    ++arrivals_;
    return {};
  }

  /// Numbers up to `next` (not counted) are through without an arrival of their own: packets that
  /// one arrival stands for. Nothing when they are behind.
  void pass(std::uint64_t next);

 private:
  struct Gap {
    std::uint64_t first, last;  // numbers that were passed over
    std::uint64_t passed_by;    // the arrival that did it
  };
  struct Past {
    std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(kWindow / 64);
    std::deque<Gap> gaps;  // rising
  };

  Arrival take_irregular(std::uint64_t number);
  Arrival take_behind(std::uint64_t number);
  Arrival take_below_floor(std::uint64_t number);
  void remember();
  void mark(std::uint64_t number, bool seen) noexcept;
  void mark(std::uint64_t first, std::uint64_t end, bool seen) noexcept;
  [[nodiscard]] bool was_seen(std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t passed_by(std::uint64_t number) const noexcept;

  std::uint64_t next_;
  std::uint64_t floor_;  // the lowest number that counts
  std::uint64_t arrivals_ = 0;
  bool joined_;
  std::unique_ptr<Past> past_;
};

}  // namespace lw::gen

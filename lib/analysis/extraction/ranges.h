// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace lw::analysis {

/// Numbers from `first` to `last`, both included, so that a range may end at 2^64-1.
struct Range {
  std::uint64_t first = 0, last = 0;
  friend bool operator==(const Range&, const Range&) = default;
  /// `length` >= 1, and at most the count of numbers from `first` on.
  static constexpr Range of(std::uint64_t first, std::uint64_t length) noexcept {
    return {first, first + (length - 1)};
  }
  /// Wraps to 0 for all 2^64 numbers.
  [[nodiscard]] constexpr std::uint64_t length() const noexcept { return last - first + 1; }
};

/// How many of `length` numbers from `first` on fit below 2^64.
constexpr std::uint64_t room_behind(std::uint64_t first, std::uint64_t length) noexcept {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - first;
  return most < length ? most + 1 : length;
}

/// A set of 64-bit numbers, such as addresses, as ranges that do not touch. A range stores the
/// first and the last frame that added to it.
class Ranges {
 public:
  struct Part {
    std::uint64_t last = 0;
    std::uint64_t first_frame = 0, last_frame = 0;
    std::uint64_t additions = 0;
  };
  using Map = std::map<std::uint64_t, Part>;

  /// Adding to the end of a range that was added to before takes O(log n).
  void add(const Range& range, std::uint64_t frame);
  void remove(const Range& range);
  /// Whether add(range) would make no new range, because it touches one.
  [[nodiscard]] bool touches(const Range& range) const;
  /// The parts of `range` that are not in the set, ascending.
  [[nodiscard]] std::vector<Range> missing_in(const Range& range) const;
  /// The parts of `other` that are not in the set, ascending.
  [[nodiscard]] std::vector<Range> missing_of(const Ranges& other) const;

  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }
  /// Count of numbers in the set; wraps to 0 for all 2^64.
  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] const Map& parts() const noexcept { return parts_; }

 private:
  /// The first part that ends at `number`, after it, or just before it.
  [[nodiscard]] Map::const_iterator reaching(std::uint64_t number) const;

  Map parts_;  // by their first number
};

/// Appends the parts of `range` outside of `taken` to `out`.
void subtract(const Range& range, const Range& taken, std::vector<Range>& out);

}  // namespace lw::analysis

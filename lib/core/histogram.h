// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lw {

/// A histogram of non-negative integers (nanoseconds, say) with a bounded relative error:
/// values below 1024 are exact, above that each power of two is cut into 1024 buckets, so a
/// quantile's bucket midpoint is within 0.05 % of the value. Adding is a few instructions; the
/// first value of a power of two (of all below 1024) takes 8 KiB, so that a receiver can have a
/// histogram for each of thousands of flows. Not thread safe.
class Histogram {
 public:
  /// Negative values count as 0 in the buckets; minimum() still tells.
  void add(std::int64_t value, std::uint64_t times = 1) noexcept {
    if (times == 0) return;
    minimum_ = count_ ? std::min(minimum_, value) : value;
    maximum_ = count_ ? std::max(maximum_, value) : value;
    count_ += times;
    sum_ += static_cast<double>(value) * static_cast<double>(times);
    bucket(index_of(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)))) += times;
  }
  struct Sample {
    std::int64_t value;
    std::uint64_t times;
  };
  /// The same of many: what is told of all is written once. Their sum, each as often as it is to be
  /// counted, fits into 63 bits; none is counted 0 times.
  void add(std::span<const Sample> samples) noexcept;
  void merge(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t minimum() const noexcept { return count_ ? minimum_ : 0; }
  [[nodiscard]] std::int64_t maximum() const noexcept { return count_ ? maximum_ : 0; }
  [[nodiscard]] double mean() const noexcept;

  /// The smallest value with at least `q` of all at or below it; q in [0, 1]; 0 when empty.
  [[nodiscard]] std::int64_t quantile(double q) const noexcept;

  /// [first, last] values that one bucket stands for, with its count.
  struct Bucket {
    std::int64_t first, last;
    std::uint64_t count;
  };
  /// The buckets that hold something, in rising order: what an export writes.
  [[nodiscard]] std::vector<Bucket> occupied() const;

 private:
  static constexpr int kSubBits = 10;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr std::size_t kOctaves = 64 - kSubBits;
  using Octave = std::array<std::uint64_t, kSub>;

  static std::size_t index_of(std::uint64_t value) noexcept {
    // 0 below 2 x kSub, where buckets are 1 wide.
    const int shift = static_cast<int>(std::bit_width(value | kSub)) - 1 - kSubBits;
    return static_cast<std::size_t>(shift) * kSub + (value >> shift);
  }
  static Bucket bounds_of(std::size_t index) noexcept;

  std::uint64_t& bucket(std::size_t index) {
    auto& octave = octaves_[index / kSub];
    if (!octave) [[unlikely]]
      begin(octave);
    return (*octave)[index % kSub];
  }
  static void begin(std::unique_ptr<Octave>& octave);

  std::array<std::unique_ptr<Octave>, kOctaves> octaves_;  // null: nothing in it
  std::uint64_t count_ = 0;
  std::int64_t minimum_ = 0, maximum_ = 0;
  double sum_ = 0;
};

}  // namespace lw

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

/// A histogram of non-negative integers (for example nanoseconds) with a bounded relative error.
/// Values below 1024 are exact; above, each power of two has 1024 buckets, so the midpoint of a
/// bucket is within 0.05 % of the value. The first value of each 64 buckets allocates 512 B, so a
/// million flows can each have a histogram. Not thread safe.
class Histogram {
 public:
  /// Adds `value`, `times` times. A negative value counts as 0 in the buckets; minimum(),
  /// maximum() and mean() use the value itself.
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
  /// Adds many samples at once. Requires that no `times` is 0 and that the sum of value x times
  /// fits into 63 bits.
  void add(std::span<const Sample> samples) noexcept;
  /// Returns the histogram that another process has counted. `buckets`: the first value of each of
  /// its occupied() buckets, and the count.
  static Histogram restored(std::span<const Sample> buckets, std::int64_t minimum,
                            std::int64_t maximum, double sum);
  /// Adds all values of `other`.
  void merge(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t minimum() const noexcept { return count_ ? minimum_ : 0; }
  [[nodiscard]] std::int64_t maximum() const noexcept { return count_ ? maximum_ : 0; }
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] double sum() const noexcept { return sum_; }

  /// Returns the smallest value that at least a share `q` in [0, 1] of all values do not exceed; 0
  /// if empty.
  [[nodiscard]] std::int64_t quantile(double q) const noexcept;

  /// A bucket: its first and last value, and its count.
  struct Bucket {
    std::int64_t first, last;
    std::uint64_t count;
  };
  /// True if add(value) allocates nothing.
  [[nodiscard]] bool has_room(std::int64_t value) const noexcept {
    return block_of(index_of(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0))));
  }
  /// Memory of the buckets in bytes.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Returns, for each of `limits`, the number of values up to that limit. `limits` are ascending
  /// and not negative; each is rounded up to the end of its bucket.
  [[nodiscard]] std::vector<std::uint64_t> counts_up_to(std::span<const std::int64_t> limits) const;
  /// Returns the non-empty buckets in ascending order.
  [[nodiscard]] std::vector<Bucket> occupied() const;

 private:
  static constexpr int kSubBits = 10;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr std::size_t kOctaves = 64 - kSubBits, kBuckets = kOctaves * kSub;
  static constexpr std::size_t kBlock = 64;
  using Block = std::array<std::uint64_t, kBlock>;
  using Octave = std::array<std::unique_ptr<Block>, kSub / kBlock>;

  static std::size_t index_of(std::uint64_t value) noexcept {
    // The shift is 0 below 2 x kSub, where each bucket holds one value.
    const int shift = static_cast<int>(std::bit_width(value | kSub)) - 1 - kSubBits;
    return static_cast<std::size_t>(shift) * kSub + (value >> shift);
  }
  static Bucket bounds_of(std::size_t index) noexcept;

  /// Returns the block of this bucket; null if the histogram has no value in it.
  [[nodiscard]] const Block* block_of(std::size_t index) const noexcept {
    const auto& octave = octaves_[index / kSub];
    return octave ? (*octave)[index % kSub / kBlock].get() : nullptr;
  }
  std::uint64_t& bucket(std::size_t index) {
    const auto& octave = octaves_[index / kSub];
    if (!octave || !(*octave)[index % kSub / kBlock]) [[unlikely]]
      begin_block(index);
    return (*(*octave)[index % kSub / kBlock])[index % kBlock];
  }
  void begin_block(std::size_t index);

  std::array<std::unique_ptr<Octave>, kOctaves> octaves_;  // null, also of a block: empty
  std::uint64_t count_ = 0;
  std::int64_t minimum_ = 0, maximum_ = 0;
  double sum_ = 0;
  std::uint64_t bytes_ = 0;  // of octaves and blocks
};

}  // namespace lw

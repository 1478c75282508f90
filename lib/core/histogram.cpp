// SPDX-License-Identifier: BSD-3-Clause
#include "core/histogram.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace lw {

Histogram::Bucket Histogram::bounds_of(std::size_t index) noexcept {
  const auto first = static_cast<std::int64_t>(index);
  if (index < kSub) return {first, first, 0};
  const std::size_t shift = index / kSub - 1;
  const std::uint64_t low = (index % kSub + kSub) << shift;
  return {static_cast<std::int64_t>(low),
          static_cast<std::int64_t>(low + (std::uint64_t{1} << shift) - 1), 0};
}

void Histogram::begin_block(std::size_t index) {
  auto& octave = octaves_[index / kSub];
  if (!octave) {
    octave = std::make_unique<Octave>();
    bytes_ += sizeof(Octave);
  }
  (*octave)[index % kSub / kBlock] = std::make_unique<Block>();
  bytes_ += sizeof(Block);
}

void Histogram::add(std::span<const Sample> samples) noexcept {
  std::int64_t lowest = count_ ? minimum_ : INT64_MAX, highest = count_ ? maximum_ : INT64_MIN;
  std::int64_t sum = 0;
  std::uint64_t count = 0;
  for (const auto& [value, times] : samples) {
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    count += times;
    sum += value * static_cast<std::int64_t>(times);
    bucket(index_of(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)))) += times;
  }
  if (count == 0) return;
  minimum_ = lowest;
  maximum_ = highest;
  count_ += count;
  sum_ += static_cast<double>(sum);
}

Histogram Histogram::restored(std::span<const Sample> buckets, std::int64_t minimum,
                              std::int64_t maximum, double sum) {
  Histogram histogram;
  histogram.add(buckets);
  if (histogram.count_ == 0) return histogram;
  histogram.minimum_ = minimum;
  histogram.maximum_ = maximum;
  histogram.sum_ = sum;
  return histogram;
}

void Histogram::merge(const Histogram& other) noexcept {
  if (other.count_ == 0) return;
  minimum_ = count_ ? std::min(minimum_, other.minimum_) : other.minimum_;
  maximum_ = count_ ? std::max(maximum_, other.maximum_) : other.maximum_;
  count_ += other.count_;
  sum_ += other.sum_;
  for (std::size_t first = 0; first < kBuckets; first += kBlock) {
    const Block* added = other.block_of(first);
    if (!added) continue;
    std::uint64_t* const counts = &bucket(first);
    std::ranges::transform(std::span(counts, kBlock), *added, counts, std::plus{});
  }
}

double Histogram::mean() const noexcept {
  return count_ ? sum_ / static_cast<double>(count_) : 0.0;
}

/// Sums block by block, then bucket by bucket inside the block: fast enough for a live display.
std::int64_t Histogram::quantile(double q) const noexcept {
  if (count_ == 0) return 0;
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t first = 0; first < kBuckets; first += kBlock) {
    const Block* counts = block_of(first);
    if (!counts) continue;
    const std::uint64_t here = std::accumulate(counts->begin(), counts->end(), std::uint64_t{0});
    if (seen + here < wanted) {
      seen += here;
      continue;
    }
    std::size_t i = 0;
    while ((seen += (*counts)[i]) < wanted) ++i;
    const Bucket bucket = bounds_of(first + i);
    return std::clamp(bucket.first + (bucket.last - bucket.first) / 2, minimum_, maximum_);
  }
  return maximum_;
}

std::vector<std::uint64_t> Histogram::counts_up_to(std::span<const std::int64_t> limits) const {
  std::vector<std::uint64_t> counts;
  std::uint64_t seen = 0;
  std::size_t next = 0;  // the first bucket that is not counted in `seen`
  const auto count_to = [&](std::size_t end) {
    while (next < end) {
      const std::size_t stop = std::min(end, (next / kBlock + 1) * kBlock);
      if (const Block* block = block_of(next))
        for (std::size_t i = next; i < stop; ++i) seen += (*block)[i % kBlock];
      next = stop;
    }
  };
  for (const std::int64_t limit : limits) {
    count_to(index_of(static_cast<std::uint64_t>(limit)) + 1);
    counts.push_back(seen);
  }
  return counts;
}

std::vector<Histogram::Bucket> Histogram::occupied() const {
  std::vector<Bucket> result;
  for (std::size_t first = 0; first < kBuckets; first += kBlock) {
    const Block* counts = block_of(first);
    if (!counts) continue;
    for (std::size_t i = 0; i < kBlock; ++i) {
      if ((*counts)[i] == 0) continue;
      result.push_back(bounds_of(first + i));
      result.back().count = (*counts)[i];
    }
  }
  return result;
}

}  // namespace lw

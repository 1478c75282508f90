// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/histogram.h"

namespace lw {

/// A Histogram for one of very many connections, most of which have few values. It stores the first
/// kFew values directly, in 192 bytes, and allocates buckets (8 KiB and more) only when there are
/// more. Gives the same results as Histogram. Not thread safe.
class CompactHistogram {
 public:
  static constexpr std::size_t kFew = 24;

  void add(std::int64_t value) {
    if (!histogram_ && count_ < kFew) {
      few_[count_++] = value;
      return;
    }
    if (!histogram_) histogram_ = std::make_unique<Histogram>(of_few());
    histogram_->add(value);
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    return histogram_ ? histogram_->count() : count_;
  }
  [[nodiscard]] std::int64_t minimum() const noexcept {
    if (histogram_) return histogram_->minimum();
    return count_ ? *std::min_element(few_.begin(), few_.begin() + count_) : 0;
  }
  [[nodiscard]] std::int64_t maximum() const noexcept {
    if (histogram_) return histogram_->maximum();
    return count_ ? *std::max_element(few_.begin(), few_.begin() + count_) : 0;
  }
  /// As Histogram::quantile().
  [[nodiscard]] std::int64_t quantile(double q) const {
    return histogram_ ? histogram_->quantile(q) : of_few().quantile(q);
  }

 private:
  [[nodiscard]] Histogram of_few() const {
    Histogram histogram;
    for (std::size_t i = 0; i < count_; ++i) histogram.add(few_[i]);
    return histogram;
  }

  std::array<std::int64_t, kFew> few_{};
  std::uint8_t count_ = 0;                // number of values in few_
  std::unique_ptr<Histogram> histogram_;  // null while all values are in few_
};

}  // namespace lw

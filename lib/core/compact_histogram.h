// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/histogram.h"

namespace lw {

/// A Histogram for one of very many connections, most of which have few values. It stores up to
/// kFew values as they are, and allocates buckets (1 KiB and more) only when there are more. Gives
/// the same results as Histogram. Not thread safe.
class CompactHistogram {
 public:
  static constexpr std::size_t kFew = 512;

  void add(std::int64_t value) {
    if (histogram_) return histogram_->add(value);
    few_.push_back(value);
    if (few_.size() <= kFew) return;
    histogram_ = std::make_unique<Histogram>(of_few());
    few_ = {};
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    return histogram_ ? histogram_->count() : few_.size();
  }
  [[nodiscard]] std::int64_t minimum() const noexcept {
    if (histogram_) return histogram_->minimum();
    return few_.empty() ? 0 : std::ranges::min(few_);
  }
  [[nodiscard]] std::int64_t maximum() const noexcept {
    if (histogram_) return histogram_->maximum();
    return few_.empty() ? 0 : std::ranges::max(few_);
  }
  /// As Histogram::quantile().
  [[nodiscard]] std::int64_t quantile(double q) const {
    return histogram_ ? histogram_->quantile(q) : of_few().quantile(q);
  }

 private:
  [[nodiscard]] Histogram of_few() const {
    Histogram histogram;
    for (const std::int64_t value : few_) histogram.add(value);
    return histogram;
  }

  std::vector<std::int64_t> few_;
  std::unique_ptr<Histogram> histogram_;  // null while all values are in few_
};

}  // namespace lw

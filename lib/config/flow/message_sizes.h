// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/chance.h"
#include "core/quantity.h"

namespace lw::config {

/// How long a flow's messages are, in bytes: a mixture of stretches, within each of which every
/// whole size is as likely as any other. One size and a range are mixtures of one stretch.
/// Immutable; copies share their stretches.
class MessageSizes {
 public:
  /// Sizes in [first, last], up to which `cumulative` of all messages lie; rising, the last is 1.
  struct Stretch {
    std::uint64_t first = 0, last = 0;
    double cumulative = 1;
  };

  static MessageSizes fixed(std::uint64_t size);
  /// In turn, from the first again after the last.
  static MessageSizes listed(std::vector<std::uint64_t> sizes);
  /// first <= last.
  static MessageSizes uniform(std::uint64_t first, std::uint64_t last);
  static MessageSizes mixture(std::vector<Stretch> stretches);

  [[nodiscard]] bool vary() const noexcept { return smallest_ != largest_; }
  [[nodiscard]] std::uint64_t smallest() const noexcept { return smallest_; }
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }

  /// The size of message `number`, from 0. The same chance gives the same sizes.
  [[nodiscard]] std::uint64_t draw(const Chance& chance, std::uint64_t number) const noexcept;

  /// Sizes whose mean stands for the mean over all: those of a list, or evenly spaced quantiles,
  /// which are as good as the whole to within 1e-4.
  [[nodiscard]] std::vector<std::uint64_t> representatives() const;

 private:
  [[nodiscard]] std::uint64_t quantile(double u) const noexcept;

  std::shared_ptr<const std::vector<std::uint64_t>> list_;
  std::shared_ptr<const std::vector<Stretch>> stretches_;
  std::uint64_t smallest_ = 0, largest_ = 0;
};

/// Reads a distribution: a line `size_bytes,cdf` for each point of a cumulative distribution, both
/// rising, the last cdf 1; between points sizes are even. A first point with a cdf above 0 is that
/// share of messages of that very size. Lines that begin with # and a heading are passed over.
/// The error is one sentence with the line's number.
Parsed<MessageSizes> parse_size_distribution(std::string_view csv);
/// The same from a file.
Parsed<MessageSizes> load_size_distribution(const std::string& file);

}  // namespace lw::config

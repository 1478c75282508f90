// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/chance.h"
#include "core/quantity.h"
#include "roce/message.h"

namespace lw::config {

class Table;
struct Flow;
struct FlowContext;

/// Distribution of a flow's message sizes, in bytes: a mixture of intervals; sizes are uniform
/// within an interval. Immutable; copies share their intervals.
class MessageSizes {
 public:
  /// Sizes in [first, last]. `cumulative` is the share of messages up to `last`; it ascends to 1.
  struct Interval {
    std::uint64_t first = 0, last = 0;
    double cumulative = 1;
  };

  static MessageSizes fixed(std::uint64_t size);
  /// The sizes in turn, cyclically.
  static MessageSizes listed(std::vector<std::uint64_t> sizes);
  /// Requires first <= last.
  static MessageSizes uniform(std::uint64_t first, std::uint64_t last);
  static MessageSizes mixture(std::vector<Interval> intervals);

  [[nodiscard]] bool vary() const noexcept { return smallest_ != largest_; }
  [[nodiscard]] std::uint64_t smallest() const noexcept { return smallest_; }
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }

  /// Size of message `number` (from 0). Equal `chance` gives equal sizes.
  [[nodiscard]] std::uint64_t draw(const Chance& chance, std::uint64_t number) const noexcept;

  /// Sizes whose mean equals the distribution's mean to within 1e-4: the list, or evenly spaced
  /// quantiles.
  [[nodiscard]] std::vector<std::uint64_t> representatives() const;

 private:
  [[nodiscard]] std::uint64_t quantile(double u) const noexcept;

  std::shared_ptr<const std::vector<std::uint64_t>> list_;
  std::shared_ptr<const std::vector<Interval>> intervals_;
  std::uint64_t smallest_ = 0, largest_ = 0;
};

/// Parses a cumulative distribution: lines `size_bytes,cdf`, both ascending, the last cdf 1; sizes
/// between two points are uniform. If the first cdf is above 0, that share of messages has the
/// first size. Lines that start with # and a heading are ignored. Errors name the line.
Parsed<MessageSizes> parse_size_distribution(std::string_view csv);
/// Reads a file of that format.
Parsed<MessageSizes> load_size_distribution(const std::string& file);

/// Reads transport, operation, sizes and PSN into flow.message and flow.sizes. Returns false when
/// no valid frame results; keys that depend on the operation then can't be checked.
bool read_message(const Table& table, const FlowContext& context, Flow& flow);

/// Union of the extension headers of the message's packets.
wire::ExtensionSet extensions_of(const roce::MessageFields& message);

}  // namespace lw::config

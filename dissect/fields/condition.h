// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/fields/fields.h"

namespace lw::dissect {

/// The condition of --where about a frame:
///
///   bth.opcode == 10 && udp.srcport in {1, 2, 5..9} || !(aeth.syndrome & 0x60 == 0)
///
/// Comparisons are ==, !=, <, <=, >, >=, and of text `contains`; `&` first takes bits of a number.
/// Signs have Wireshark's words too: and, or, not, eq, ne, lt, le, gt, ge. A bare name is true if
/// the frame has the field, or a field of this protocol. A comparison of a field that the frame
/// doesn't have is false, also !=. A field with two values satisfies ==, in and < with either, !=
/// only with both. Values are numbers, addresses ("10.0.0.0/8" too), times in seconds since 1970,
/// words and "quoted text".
class Condition {
 public:
  /// The error begins with the column, from 1.
  static Parsed<Condition> parse(std::string_view text);

  [[nodiscard]] bool matches(const Dissection& dissection) const {
    return holds(root_, dissection);
  }

  /// As it was typed.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Whether the condition reads a field of this name.
  [[nodiscard]] bool reads(std::string_view field) const {
    return std::ranges::any_of(tests_, [field](const Test& t) { return t.field->name == field; });
  }

  /// A value, or the values from `low` to `high`.
  struct Range {
    Value low, high;
  };
  enum class Operation : std::uint8_t {
    present,
    equal,  // to one of the ranges
    different,
    below,
    at_most,
    above,
    at_least,
    contains,  // text
  };
  struct Test {
    const Field* field = nullptr;
    Operation operation = Operation::present;
    std::uint64_t mask = ~std::uint64_t{0};
    bool masked = false;
    std::vector<Range> ranges{};
  };

 private:
  class Parser;
  enum class Kind : std::uint8_t { test, both, either, no };
  /// `left` and `right` are other nodes; for a test, `left` is the index of the test.
  struct Node {
    Kind kind;
    std::size_t left = 0, right = 0;
  };

  [[nodiscard]] bool holds(std::size_t node, const Dissection& dissection) const;

  std::vector<Node> nodes_;
  std::vector<Test> tests_;
  std::size_t root_ = 0;
  std::string text_;
};

}  // namespace lw::dissect

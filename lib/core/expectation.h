// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace lw {

/// What must hold of a figure: "loss<=0.1%", "p99 < 2ms". A name, a comparison (<= < >= > == = !=)
/// and a value.
struct Expectation {
  enum class Relation : std::uint8_t { at_most, below, at_least, above, equal, other };
  /// Of the value: a number without a unit, a share (%), ns, bits per second, bytes, true or false.
  enum class Unit : std::uint8_t { none, share, time, rate, size, truth };

  std::string text;   // as given
  std::string name;   // of the figure
  std::string limit;  // the comparison and the value: "<= 0.1%"
  Relation relation{};
  Unit unit{};
  double value = 0;  // 0.1% is 0.001; 2ms is 2e6; true is 1

  /// Whether `measured` compares with `to` as the expectation says.
  [[nodiscard]] bool compares(double measured, double to) const noexcept;
};

/// Errors: no comparison, no name, or no value: a finite number, with a unit or without, or true or
/// false.
Parsed<Expectation> parse_expectation(std::string_view text);

/// "a time".
std::string_view unit_text(Expectation::Unit unit) noexcept;

}  // namespace lw

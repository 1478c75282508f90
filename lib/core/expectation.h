// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace lw {

/// A condition on a figure of a report: "loss<=0.1%", "p99 < 2ms". Consists of a name, a comparison
/// (<= < >= > == = !=) and a value.
struct Expectation {
  enum class Relation : std::uint8_t { at_most, below, at_least, above, equal, other };
  /// Unit of the value: none, share (%), ns, bits per second, bytes, true or false.
  enum class Unit : std::uint8_t { none, share, time, rate, size, truth };

  std::string text;   // as given
  std::string name;   // name of the figure, or the path of one in a report
  std::string limit;  // the comparison and the value: "<= 0.1%"
  Relation relation{};
  Unit unit{};
  double value = 0;                // 0.1% is 0.001; 2ms is 2e6; true is 1
  std::string place = "--expect";  // where it was read: "x.toml:3:8"

  /// Returns true if `measured` satisfies the comparison with the limit `to`.
  [[nodiscard]] bool compares(double measured, double to) const noexcept;
};

/// Errors: the comparison, the name or the value is missing. A value is a finite number, with or
/// without a unit, or true or false.
Parsed<Expectation> parse_expectation(std::string_view text);

/// Checks that the limit is a value of a figure that is never negative, of a unit: a time; a rate;
/// a share, as parse_probability() reads it; or none, a count, which may be a share of a whole.
Parsed<void> check_limit(const Expectation& expectation, Expectation::Unit unit);

/// Returns the unit as a phrase for error messages: "a time".
std::string_view unit_text(Expectation::Unit unit) noexcept;

}  // namespace lw

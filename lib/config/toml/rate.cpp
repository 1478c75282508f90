// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/rate.h"

#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace lw::config {
namespace {

/// What a unit's prefix multiplies by; 0 for none that is known.
double multiplier(std::string_view prefix) {
  if (prefix.empty()) return 1;
  if (prefix == "k") return 1e3;
  if (prefix == "M") return 1e6;
  return 0;
}

std::unexpected<std::string> refusal(std::string_view text) {
  return std::unexpected(fmt::format(
      "expected a rate above 0 such as \"10Gb/s\" or \"20 kframes/s\", found \"{}\"", text));
}

/// A number, a multiple and the unit, which the text ends with.
Parsed<Rate> counted(std::string_view text, std::string_view unit, Rate::Unit meaning) {
  const std::string_view body = text.substr(0, text.size() - unit.size());
  double value = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (error != std::errc{}) return refusal(text);
  std::string_view prefix = body.substr(static_cast<std::size_t>(end - body.data()));
  while (prefix.starts_with(' ')) prefix.remove_prefix(1);
  const bool share = meaning == Rate::Unit::link;
  value *= share ? (prefix.empty() ? 0.01 : 0) : multiplier(prefix);
  if (!std::isfinite(value) || value <= 0 || (share && value > 1)) return refusal(text);
  return Rate{meaning, value};
}

}  // namespace

Parsed<Rate> parse_rate(std::string_view text) {
  constexpr std::pair<std::string_view, Rate::Unit> kUnits[] = {
      {"frames/s", Rate::Unit::frames},
      {"messages/s", Rate::Unit::messages},
      {"%", Rate::Unit::link},
  };
  for (const auto& [unit, meaning] : kUnits) {
    if (text.ends_with(unit)) return counted(text, unit, meaning);
  }
  const auto bits = parse_bit_rate(text);
  if (!bits) return refusal(text);
  return Rate{Rate::Unit::wire_bits, *bits};
}

std::string_view name_of(Rate::Unit unit) noexcept {
  switch (unit) {
    case Rate::Unit::wire_bits:
      return "b/s on the wire";
    case Rate::Unit::frames:
      return "frames/s";
    case Rate::Unit::goodput:
      return "b/s of payload";
    case Rate::Unit::messages:
      return "messages/s";
    case Rate::Unit::link:
      break;
  }
  return "of the link";
}

std::string to_string(const Rate& rate) {
  const bool bits = rate.unit == Rate::Unit::wire_bits || rate.unit == Rate::Unit::goodput;
  if (!bits) return fmt::format("{} {}", rate.value, name_of(rate.unit));
  // "1.00 Gb/s" and what kind of bits.
  return format_bit_rate(rate.value) + std::string(name_of(rate.unit).substr(3));
}

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include <fmt/format.h>

#include "config/impair/scenario.h"

namespace lw::config {
namespace {

std::optional<double> plain_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data))
    return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  return std::nullopt;
}

double part_way(double from, double to, double share) noexcept {
  return from + (to - from) * share;
}

Value number_value(Position at, double number) {
  if (std::floor(number) == number && std::abs(number) < 1e15)
    return {at, static_cast<std::int64_t>(number)};
  return {at, number};
}

}  // namespace

Parsed<Value> between(const Value& from, const Value& to, double share) {
  const auto a = plain_number(from), b = plain_number(to);
  if (a && b) return number_value(to.at, part_way(*a, *b, share));
  const std::string first = text_of(from), last = text_of(to);
  const auto at = [&](const auto& x, const auto& y) {
    return part_way(static_cast<double>(x), static_cast<double>(y), share);
  };
  const auto text = [&](std::string words) { return Value{to.at, std::move(words)}; };
  if (const auto x = parse_probability(first), y = parse_probability(last); x && y)
    return text(fmt::format("{:.17g}", at(*x, *y)));
  if (const auto x = parse_duration(first), y = parse_duration(last); x && y)
    return text(fmt::format("{}ns", std::llround(at(x->count(), y->count()))));
  if (const auto x = parse_bytes(first), y = parse_bytes(last); x && y)
    return text(fmt::format("{}B", std::llround(at(*x, *y))));
  if (const auto x = parse_bit_rate(first), y = parse_bit_rate(last); x && y)
    return text(fmt::format("{:.0f}b/s", at(*x, *y)));
  return std::unexpected(
      fmt::format("expected two values of a kind to go from one to the other, found {} and {}",
                  describe(from), describe(to)));
}

}  // namespace lw::config

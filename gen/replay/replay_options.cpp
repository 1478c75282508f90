// SPDX-License-Identifier: BSD-3-Clause
#include "gen/replay/replay_options.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace lw::gen {
namespace {

constexpr std::uint32_t kLargestQp = 0xffffff;

/// Parses the whole text as a number, hexadecimal after 0x.
std::optional<std::uint32_t> number_of(std::string_view text, std::uint32_t largest) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value <= largest ? std::optional(value) : std::nullopt;
}

}  // namespace

Parsed<Speed> parse_speed(std::string_view text) {
  if (text == "max") return Speed{std::numeric_limits<double>::infinity()};
  const std::string_view number = text.ends_with('x') ? text.substr(0, text.size() - 1) : text;
  double factor = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), factor);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!whole || !std::isfinite(factor) || factor <= 0) {
    return std::unexpected(fmt::format(
        "expected a multiple of the capture's pace such as 2x or 0.5x, or max, found \"{}\"",
        text));
  }
  return Speed{factor};
}

Parsed<Mapping> parse_mapping(std::string_view text, std::uint32_t largest) {
  const std::size_t sign = text.find('=');
  if (sign != text.npos) {
    const auto from = number_of(text.substr(0, sign), largest);
    const auto to = number_of(text.substr(sign + 1), largest);
    if (from && to) return Mapping{*from, *to};
  }
  return std::unexpected(
      fmt::format("expected OLD=NEW, two numbers up to {:#x}, found \"{}\"", largest, text));
}

Parsed<PsnOffset> parse_psn_offset(std::string_view text) {
  PsnOffset result;
  std::string_view number = text;
  if (const std::size_t sign = text.find('='); sign != text.npos) {
    result.qp = number_of(text.substr(0, sign), kLargestQp);
    number = text.substr(sign + 1);
  }
  const bool negative = number.starts_with('-');
  const auto offset = number_of(number.substr(negative ? 1 : 0), wire::Psn::kMask);
  if (!offset || (number.size() != text.size() && !result.qp)) {
    return std::unexpected(fmt::format(
        "expected a number of packets such as 100 or -5, or QP=NUMBER, each of 24 bits, found "
        "\"{}\"",
        text));
  }
  result.offset = (negative ? wire::Psn{} - *offset : wire::Psn{*offset}).value();
  return result;
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/number_ranges.h"

#include <fmt/format.h>

namespace lw::config {
namespace {

using emulator::NumberRange;

Parsed<NumberRange> read_range(const Value& value, std::uint32_t maximum, bool wraps) {
  const auto* text = std::get_if<std::string>(&value.data);
  const auto dash = text ? text->find('-') : std::string::npos;
  if (dash == std::string::npos || dash == 0) {
    const auto one = read_unsigned(value, 0, maximum);
    if (!one) return std::unexpected(one.error() + " (or a range such as \"5-9\")");
    return NumberRange{static_cast<std::uint32_t>(*one), static_cast<std::uint32_t>(*one)};
  }
  const auto end = [&](std::string part) {
    return read_unsigned(Value{value.at, std::move(part)}, 0, maximum);
  };
  const auto first = end(text->substr(0, dash)), last = end(text->substr(dash + 1));
  if (!first || !last || (*first > *last && !wraps))
    return std::unexpected(
        fmt::format("expected a range in 0-{} such as \"5-9\", found \"{}\"", maximum, *text));
  return NumberRange{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
}

}  // namespace

Parsed<std::vector<NumberRange>> read_ranges(const Value& value, std::uint32_t maximum,
                                             bool wraps) {
  return some_of([=](const Value& v) { return read_range(v, maximum, wraps); })(value);
}

}  // namespace lw::config

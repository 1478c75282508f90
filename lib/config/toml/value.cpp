// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"

namespace lw::config {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

std::unexpected<std::string> expected_found(std::string_view expected, const Value& found) {
  return std::unexpected(fmt::format("expected {}, found {}", expected, describe(found)));
}

/// Parses a whole text: decimal, or hexadecimal after 0x.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> as_unsigned(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return whole_number(*text);
  const auto* signed_number = std::get_if<std::int64_t>(&value.data);
  if (signed_number == nullptr || *signed_number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*signed_number);
}

/// Names compare without case; spaces and dashes equal underscores.
char canonical_letter(char c) {
  if (c == ' ' || c == '-') return '_';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::string number_text(double number, bool exact) {
  if (!exact) return fmt::format("{}", number);
  std::array<char, 64> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                          std::chars_format::scientific);
  std::string text(digits.data(), end);
  const std::size_t exponent = text.find_first_of("+-", 1) + 1;
  if (text[exponent] == '0') text.erase(exponent, 1);  // 1e-3, not 1e-03
  return text;
}

}  // namespace

void restrict_files(Value& value, const ClientFiles* only) {
  value.only = only;
  if (auto* items = std::get_if<Array>(&value.data))
    for (Value& item : *items) restrict_files(item, only);
  if (auto* entries = std::get_if<Entries>(&value.data))
    for (Entry& entry : *entries) restrict_files(entry.value, only);
}

std::string describe(const Value& value) {
  return std::visit(Overloaded{
                        [](bool b) { return std::string(b ? "true" : "false"); },
                        [](std::int64_t i) { return fmt::format("{}", i); },
                        [&](double d) { return number_text(d, value.exact); },
                        [](const std::string& s) { return fmt::format("\"{}\"", excerpt(s)); },
                        [](const Array&) { return std::string("an array"); },
                        [](const Entries&) { return std::string("a table"); },
                        [](DateOrTime) { return std::string("a date or time"); },
                    },
                    value.data);
}

std::string text_of(const Value& value) {
  return std::visit(Overloaded{
                        [](std::int64_t i) { return fmt::format("{}", i); },
                        [&](double d) { return number_text(d, value.exact); },
                        [](const std::string& s) { return s; },
                        [](const auto&) { return std::string(); },
                    },
                    value.data);
}

Parsed<bool> is_table(const Value& value) { return std::holds_alternative<Entries>(value.data); }

Parsed<bool> read_boolean(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value.data)) return *b;
  return expected_found("true or false", value);
}

Parsed<std::string> read_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr || text->empty()) return expected_found("a string in quotes", value);
  return *text;
}

Parsed<wire::MacAddress> read_mac(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    if (const auto mac = wire::parse_mac(*text)) return *mac;
  }
  return expected_found("a MAC address such as \"02:00:00:00:00:01\"", value);
}

Parsed<wire::IpAddress> read_ip(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    if (const auto ip = wire::parse_ip(*text)) return *ip;
  }
  return expected_found("an IP address such as \"192.0.2.1\" or \"2001:db8::1\"", value);
}

Parsed<std::uint64_t> read_unsigned(const Value& value, std::uint64_t minimum,
                                    std::uint64_t maximum) {
  const auto number = as_unsigned(value);
  if (number && *number >= minimum && *number <= maximum) return *number;
  constexpr std::uint64_t kHexAbove = 0xffffff;
  return expected_found(maximum > kHexAbove
                            ? fmt::format("a whole number from {} to {:#x}", minimum, maximum)
                            : fmt::format("a whole number from {} to {}", minimum, maximum),
                        value);
}

Parsed<double> read_number(const Value& value, double minimum, double maximum) {
  std::optional<double> number;
  if (const auto* d = std::get_if<double>(&value.data)) number = *d;
  if (const auto* i = std::get_if<std::int64_t>(&value.data)) number = static_cast<double>(*i);
  // A NaN is in no range.
  if (number && *number >= minimum && *number <= maximum) return *number;
  return expected_found(fmt::format("a number from {} to {}", minimum, maximum), value);
}

Parsed<std::size_t> read_choice(const Value& value, std::span<const std::string_view> names) {
  const auto* text = std::get_if<std::string>(&value.data);
  for (std::size_t i = 0; text != nullptr && i < names.size(); ++i) {
    if (std::ranges::equal(names[i], *text, {}, canonical_letter, canonical_letter)) return i;
  }
  std::string sentence =
      fmt::format("expected one of {}, found {}", fmt::join(names, ", "), describe(value));
  const std::string_view near = text != nullptr ? nearest(*text, names) : std::string_view();
  if (!near.empty()) sentence += fmt::format(": did you mean \"{}\"?", near);
  return std::unexpected(std::move(sentence));
}

}  // namespace lw::config

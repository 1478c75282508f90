// SPDX-License-Identifier: BSD-3-Clause
#include "core/setting.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <limits>

namespace lw {
namespace {

constexpr std::string_view kTruths[] = {"false", "true"};

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

std::unexpected<std::string> not_this(const std::string& expected, std::string_view found) {
  return std::unexpected("expected " + expected + ", found \"" + std::string(found) + '"');
}

/// Keeps the one value of a setting as text.
class TextSink final : public FigureSink {
 public:
  std::string text;

  void value(const FigureValue& value) override {
    text = std::visit([](const auto& found) { return as_text(found); }, value);
  }
  void object(const FigureTable&, const void*) override {}
  void json(std::string_view) override {}
  void begin_list() override {}
  void begin_map() override {}
  void key(std::string_view) override {}
  void end() override {}

 private:
  static std::string as_text(bool value) { return std::string(kTruths[value ? 1 : 0]); }
  static std::string as_text(double value) { return number_text(value); }
  static std::string as_text(std::string_view value) { return std::string(value); }
  static std::string as_text(std::int64_t value) { return std::to_string(value); }
  static std::string as_text(std::uint64_t value) { return std::to_string(value); }
};

/// Returns the index of a text among names.
Parsed<std::uint64_t> read_name(std::string_view text, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<std::uint64_t>(found - names.begin());
  std::string expected;
  for (const std::string_view name : names)
    expected.append(expected.empty() ? "" : ", ").append(name);
  return not_this(expected, text);
}

template <class T>
Parsed<FigureValue> as_value(const Parsed<T>& read) {
  if (!read) return std::unexpected(read.error());
  return FigureValue(*read);
}

Parsed<FigureValue> read_value(const Figure& row, std::string_view text) {
  using Shape = FigureType::Shape;
  if (row.type->shape == Shape::truth) {
    const auto index = read_name(text, kTruths);
    if (!index) return std::unexpected(index.error());
    return FigureValue(*index == 1);
  }
  if (row.type->shape == Shape::natural)
    return as_value(read_whole(text, static_cast<std::uint64_t>(row.least),
                               static_cast<std::uint64_t>(row.most)));
  if (row.type->shape == Shape::number) return as_value(read_decimal(text, row.least, row.most));
  return as_value(read_name(text, row.choices));
}

/// Empty: none, or one that the meaning says.
std::string_view unit_text(Unit unit) noexcept {
  constexpr std::string_view kTexts[] = {"",  "",    "bytes", "ns",   "us",
                                         "s", "b/s", "Mb/s",  "Gb/s", "%"};
  return kTexts[static_cast<std::size_t>(unit)];
}

}  // namespace

Parsed<std::uint64_t> read_whole(std::string_view text, std::uint64_t low, std::uint64_t high) {
  const bool hexadecimal = text.starts_with("0x");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  const char* last = digits.data() + digits.size();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), last, value, hexadecimal ? 16 : 10);
  if (error == std::errc() && end == last && value >= low && value <= high) return value;
  if (high == std::numeric_limits<std::uint64_t>::max()) return not_this("a whole number", text);
  return not_this("a whole number from " + std::to_string(low) + " to " + std::to_string(high),
                  text);
}

Parsed<double> read_decimal(std::string_view text, double low, double high) {
  const char* last = text.data() + text.size();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last && value >= low && value <= high) return value;
  return not_this("a number from " + number_text(low) + " to " + number_text(high), text);
}

Parsed<void> set_setting(const Figure& row, void* object, std::string_view text) {
  assert(row.is_setting() && row.write != nullptr);
  const auto value = read_value(row, text);
  if (!value) return std::unexpected(value.error());
  row.write(object, *value);
  return {};
}

std::string text_of_setting(const Figure& row, const void* object) {
  TextSink sink;
  row.read(object, sink);
  return sink.text;
}

std::string help_of_setting(const Figure& row) {
  std::string help(row.meaning);
  if (help.ends_with('.')) help.pop_back();
  // A name such as DCQCN keeps its letters.
  if (help.size() > 1 && std::islower(static_cast<unsigned char>(help[1])) != 0)
    help[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(help[0])));
  const std::string_view unit = unit_text(row.unit);
  if (unit.empty()) return help;
  const std::size_t first = std::min(help.find(';'), help.size());  // what 0 means comes behind
  return help.insert(first, ", in " + std::string(unit));
}

}  // namespace lw

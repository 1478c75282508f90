// SPDX-License-Identifier: BSD-3-Clause
#include "core/setting.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <limits>

#include "core/single_value.h"

namespace lw {
namespace {

constexpr std::string_view kTruths[] = {"false", "true"};
constexpr std::string_view kTime = "TIME", kRate = "RATE";

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

std::unexpected<std::string> not_this(const std::string& expected, std::string_view found) {
  return std::unexpected("expected " + expected + ", found \"" + std::string(found) + '"');
}

struct QuantityUnit {
  std::string_view name;
  double size;
};
constexpr QuantityUnit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr QuantityUnit kRates[] = {
    {"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};

/// Returns a quantity as its parser reads it, in the largest unit in which it is at least 1.
std::string quantity_text(double value, std::span<const QuantityUnit> units) {
  if (value == 0) return "0";
  const QuantityUnit* fits = &units.front();
  for (const QuantityUnit& unit : units)
    if (value >= unit.size) fits = &unit;
  return number_text(value / fits->size).append(fits->name);
}

/// Keeps the one value of a setting as text.
class TextSink final : public SingleValueSink {
 public:
  explicit TextSink(std::string_view quantity) : quantity_(quantity) {}

  std::string text;

  void value(const FigureValue& value) override {
    if (quantity_ == kTime)
      text = quantity_text(static_cast<double>(std::get<std::int64_t>(value)), kTimes);
    else if (quantity_ == kRate)
      text = quantity_text(std::get<double>(value), kRates);
    else
      text = std::visit([](const auto& found) { return as_text(found); }, value);
  }

 private:
  std::string_view quantity_;

  static std::string as_text(bool value) { return std::string(kTruths[value ? 1 : 0]); }
  static std::string as_text(double value) { return number_text(value); }
  static std::string as_text(std::string_view value) { return std::string(value); }
  static std::string as_text(std::int64_t value) { return std::to_string(value); }
  static std::string as_text(std::uint64_t value) { return std::to_string(value); }
};

/// Has one value, of a number, a truth value or an index of choices.
class OneValue final : public SingleValueSource {
 public:
  explicit OneValue(FigureValue value) : value_(value) {}

  FigureValue value(const FigureType&) override { return value_; }
  std::size_t choice() override { return std::get<std::uint64_t>(value_); }
  void refuse(std::string_view) override {}

 private:
  FigureValue value_;
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

/// Reads a time in ns.
Parsed<double> read_ns(std::string_view text) {
  const auto time = parse_duration(text);
  if (!time) return std::unexpected(time.error());
  return static_cast<double>(time->count());
}

Parsed<double> read_rate(std::string_view text) { return text == "0" ? 0 : parse_bit_rate(text); }

/// Reads a time or a rate within the bounds of the row.
Parsed<FigureValue> read_quantity(const Figure& row, std::string_view text) {
  const bool is_time = quantity_of(row) == kTime;
  const Parsed<double> read = is_time ? read_ns(text) : read_rate(text);
  if (!read) return std::unexpected(read.error());
  const auto bound = [&](double value) {
    return is_time ? quantity_text(value, kTimes) : quantity_text(value, kRates);
  };
  if (*read < row.least || *read > row.most)
    return not_this(
        (is_time ? "a time from " : "a rate from ") + bound(row.least) + " to " + bound(row.most),
        text);
  if (is_time) return FigureValue(static_cast<std::int64_t>(*read));
  return FigureValue(*read);
}

Parsed<FigureValue> read_value(const Figure& row, std::string_view text) {
  using Shape = FigureType::Shape;
  if (!quantity_of(row).empty()) return read_quantity(row, text);
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

}  // namespace

std::string_view quantity_of(const Figure& row) noexcept {
  using Shape = FigureType::Shape;
  if (row.type->shape == Shape::integer && row.unit == Unit::ns) return kTime;
  if (row.type->shape == Shape::number && row.unit == Unit::bits_per_second) return kRate;
  return {};
}

std::string_view key_of_setting(const Figure& row) noexcept {
  std::string_view key = row.name;
  for (const std::string_view unit : {"_ns", "_bps"})
    if (!quantity_of(row).empty() && key.ends_with(unit)) key.remove_suffix(unit.size());
  return key;
}

std::string_view unit_text(Unit unit) noexcept {
  constexpr std::array<std::string_view, 10> kTexts = {
      "", "frames", "bytes", "ns", "us", "s", "bits per second", "Mb/s", "Gb/s", "percent"};
  static_assert(kTexts.size() == static_cast<std::size_t>(Unit::percent) + 1);
  return kTexts[static_cast<std::size_t>(unit)];
}

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
  OneValue source(*value);
  row.write(object, source);
  return {};
}

std::string text_of_setting(const Figure& row, const void* object) {
  TextSink sink(quantity_of(row));
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
  if (unit.empty() || !quantity_of(row).empty()) return help;
  const std::size_t first = std::min(help.find(';'), help.size());  // what 0 means comes behind
  return help.insert(first, ", in " + std::string(unit));
}

}  // namespace lw

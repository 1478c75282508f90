// SPDX-License-Identifier: BSD-3-Clause
#include "core/setting.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <type_traits>

#include "core/single_value.h"

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

struct QuantityUnit {
  std::string_view name;
  double size;
};
constexpr QuantityUnit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr QuantityUnit kRates[] = {
    {"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};
constexpr QuantityUnit kSizes[] = {{"B", 1},         {"kB", 1e3}, {"MB", 1e6},
                                   {"MiB", 1 << 20}, {"GB", 1e9}, {"GiB", 1 << 30}};

/// Returns a quantity as its parser reads it, in the largest unit in which it is at least 1.
std::string quantity_text(double value, std::span<const QuantityUnit> units) {
  if (value == 0) return "0";
  const QuantityUnit* fits = &units.front();
  for (const QuantityUnit& unit : units)
    if (value >= unit.size) fits = &unit;
  return number_text(value / fits->size).append(fits->name);
}

std::string time_text(double ns) { return quantity_text(ns, kTimes); }
std::string rate_text(double bps) { return quantity_text(bps, kRates); }
/// In the largest unit in which the number is whole.
std::string size_text(double bytes) {
  const QuantityUnit* fits = &kSizes[0];
  for (const QuantityUnit& unit : kSizes)
    if (bytes >= unit.size && std::fmod(bytes, unit.size) == 0) fits = &unit;
  return std::to_string(static_cast<std::uint64_t>(bytes / fits->size)).append(fits->name);
}
std::string share_text(double share) { return number_text(share * 100) + '%'; }

Parsed<double> read_ns(std::string_view text) {
  const auto time = parse_duration(text);
  if (!time) return std::unexpected(time.error());
  return static_cast<double>(time->count());
}
Parsed<double> read_bps(std::string_view text) { return text == "0" ? 0 : parse_bit_rate(text); }
Parsed<double> read_size(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected(bytes.error());
  return static_cast<double>(*bytes);  // exact: at most kLargestSize
}

/// A number with a unit of its own in its text.
struct Quantity {
  std::string_view kind, noun;
  FigureType::Shape shape;
  Unit unit;
  double least, most;  // that read() returns
  Parsed<double> (*read)(std::string_view text);
  std::string (*text)(double value);
};
constexpr Quantity kQuantities[] = {
    {"TIME", "a time", FigureType::Shape::integer, Unit::ns, 0, kLongestTimeNs, read_ns, time_text},
    {"RATE", "a rate", FigureType::Shape::number, Unit::bits_per_second, kLowestRate, kHighestRate,
     read_bps, rate_text},
    {"SIZE", "a size", FigureType::Shape::natural, Unit::bytes, 0, kLargestSize, read_size,
     size_text},
    {"SHARE", "a share", FigureType::Shape::number, Unit::share, 0, 1, parse_probability,
     share_text}};

/// The quantity of a row; null for a setting without a unit in its text.
const Quantity* find_quantity(const Figure& row) noexcept {
  const auto found = std::ranges::find_if(kQuantities, [&](const Quantity& each) {
    return each.shape == row.type->shape && each.unit == row.unit;
  });
  return found == std::end(kQuantities) ? nullptr : &*found;
}

/// "a time from 1ns to 10s", "a time from 1ns", "a time up to 10s", "a time".
std::string bounds_text(const Quantity& quantity, const Figure& row) {
  std::string text(quantity.noun);
  const bool low = row.least > quantity.least, high = row.most < quantity.most;
  if (low) text += " from " + quantity.text(row.least);
  if (high) text += (low ? " to " : " up to ") + quantity.text(row.most);
  return text;
}

/// Keeps the one value of a setting as text.
class TextSink final : public SingleValueSink {
 public:
  explicit TextSink(const Quantity* quantity) : quantity_(quantity) {}

  std::string text;

  void value(const FigureValue& value) override {
    text = std::visit(
        [&](const auto& found) {
          if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(found)>>)
            if (quantity_ != nullptr) return quantity_->text(static_cast<double>(found));
          return as_text(found);
        },
        value);
  }

 private:
  const Quantity* quantity_;

  static std::string as_text(bool value) { return std::string(kTruths[value ? 1 : 0]); }
  static std::string as_text(double value) { return number_text(value); }
  static std::string as_text(std::string_view value) { return std::string(value); }
  static std::string as_text(std::int64_t value) { return std::to_string(value); }
  static std::string as_text(std::uint64_t value) { return std::to_string(value); }
};

/// Has one value: a number, a truth value, a text or an index of choices.
class OneValue final : public SingleValueSource {
 public:
  explicit OneValue(FigureValue value) : value_(value) {}

  FigureValue value(const FigureType&) override { return value_; }
  std::size_t choice() override { return std::get<std::uint64_t>(value_); }
  void refuse(std::string_view why) override { error = why; }

  std::string error;

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

/// Reads a quantity within the bounds of the row.
Parsed<FigureValue> read_quantity(const Quantity& quantity, const Figure& row,
                                  std::string_view text) {
  using Shape = FigureType::Shape;
  const Parsed<double> read = quantity.read(text);
  if (!read) return std::unexpected(read.error());
  if (*read < row.least || *read > row.most) return not_this(bounds_text(quantity, row), text);
  if (quantity.shape == Shape::integer) return FigureValue(static_cast<std::int64_t>(*read));
  if (quantity.shape == Shape::natural) return FigureValue(static_cast<std::uint64_t>(*read));
  return FigureValue(*read);
}

Parsed<FigureValue> read_value(const Figure& row, std::string_view text) {
  using Shape = FigureType::Shape;
  if (const Quantity* quantity = find_quantity(row)) return read_quantity(*quantity, row, text);
  if (row.type->shape == Shape::truth) {
    const auto index = read_name(text, kTruths);
    if (!index) return std::unexpected(index.error());
    return FigureValue(*index == 1);
  }
  if (row.type->shape == Shape::natural)
    return as_value(read_whole(text, static_cast<std::uint64_t>(row.least),
                               static_cast<std::uint64_t>(row.most)));
  if (row.type->shape == Shape::number) return as_value(read_decimal(text, row.least, row.most));
  if (row.choices.empty()) return FigureValue(text);
  return as_value(read_name(text, row.choices));
}

}  // namespace

std::string_view quantity_of(const Figure& row) noexcept {
  const Quantity* quantity = find_quantity(row);
  return quantity == nullptr ? std::string_view() : quantity->kind;
}

std::string values_of_setting(const Figure& row) {
  if (const Quantity* quantity = find_quantity(row)) return bounds_text(*quantity, row);
  const bool truth = row.type->shape == FigureType::Shape::truth;
  std::string names;
  for (const std::string_view name : truth ? std::span(kTruths) : row.choices)
    names.append(names.empty() ? "" : ", ").append(name);
  if (!names.empty()) return names;
  if (row.type->shape == FigureType::Shape::text) return "a text";
  if (row.type->shape == FigureType::Shape::number)
    return number_text(row.least) + " to " + number_text(row.most);
  return std::to_string(static_cast<std::uint64_t>(row.least)) + " to " +
         std::to_string(static_cast<std::uint64_t>(row.most));
}

std::string_view key_of_setting(const Figure& row) noexcept {
  std::string_view key = row.name;
  for (const std::string_view unit : {"_ns", "_bps"})
    if (!quantity_of(row).empty() && key.ends_with(unit)) key.remove_suffix(unit.size());
  return key;
}

std::string_view unit_text(Unit unit) noexcept {
  constexpr std::array<std::string_view, 11> kTexts = {
      "", "frames", "bytes", "ns", "us", "s", "bits per second", "Mb/s", "Gb/s", "percent", ""};
  static_assert(kTexts.size() == static_cast<std::size_t>(Unit::share) + 1);
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
  if (!source.error.empty()) return std::unexpected(std::move(source.error));
  return {};
}

std::string text_of_setting(const Figure& row, const void* object) {
  if (row.empty == Figure::Empty::left_out && row.is_empty(object)) return {};
  TextSink sink(find_quantity(row));
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

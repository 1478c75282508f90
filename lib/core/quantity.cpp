// SPDX-License-Identifier: BSD-3-Clause
#include "core/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

#include "core/limits.h"
#include "core/names.h"

namespace lw {
namespace {

struct NamedUnit {
  std::string_view name;
  double factor;
};

constexpr NamedUnit kTimeUnits[] = {{"ns", 1},   {"us", 1e3}, {"µs", 1e3},
                                    {"ms", 1e6}, {"s", 1e9},  {"min", 60e9}};
constexpr NamedUnit kRateUnits[] = {
    {"b/s", 1},   {"kb/s", 1e3},   {"Mb/s", 1e6},   {"Gb/s", 1e9},   {"Tb/s", 1e12},
    {"bps", 1},   {"kbps", 1e3},   {"Mbps", 1e6},   {"Gbps", 1e9},   {"Tbps", 1e12},
    {"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12},
    {"bit", 1},   {"kbit", 1e3},   {"Mbit", 1e6},   {"Gbit", 1e9},   {"Tbit", 1e12},
    {"K", 1e3},   {"M", 1e6},      {"G", 1e9},      {"T", 1e12}};
constexpr NamedUnit kByteUnits[] = {{"B", 1},         {"kB", 1e3},        {"MB", 1e6},
                                    {"GB", 1e9},      {"KB", 1e3},        {"KiB", 1024},
                                    {"MiB", 1048576}, {"GiB", 1073741824}};
/// As perftest reads them: powers of two.
constexpr NamedUnit kBareUnits[] = {{"k", 1024}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}};
constexpr NamedUnit kLengthUnits[] = {{"km", 1}, {"m", 1e-3}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string refusal(std::string_view expected, std::string_view found) {
  std::string sentence = "expected ";
  return sentence.append(expected).append(", found \"").append(excerpt(found)).append("\"");
}

struct Number {
  double value;
  std::string_view rest;
};

Parsed<Number> leading_number(std::string_view text, std::string_view expected) {
  const std::string_view body = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) {
    return std::unexpected(refusal(expected, text));
  }
  return Number{value, trim(body.substr(static_cast<std::size_t>(end - body.data())))};
}

Parsed<double> scaled(std::string_view text, std::span<const NamedUnit> units,
                      std::string_view expected) {
  const auto number = leading_number(text, expected);
  if (!number) return std::unexpected(number.error());
  for (const NamedUnit& unit : units) {
    if (unit.name == number->rest) return number->value * unit.factor;
  }
  return std::unexpected(refusal(expected, text));
}

/// Space for the longest double in decimal notation, which has 309 digits before the point.
constexpr std::size_t kLongestNumber = 352;

std::string decimal(double value, int digits, const char* unit) {
  std::array<char, kLongestNumber> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, unit);
  return text.data();
}

/// A number with at most so many significant digits, or all those before the point.
std::string significant(double value, int digits) {
  std::array<char, kLongestNumber> text{};
  if (std::abs(value) >= std::pow(10, digits) - 0.5)
    std::snprintf(text.data(), text.size(), "%.0f", value);
  else
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

constexpr int kAllDigits = 15;  // that a double has

/// Returns the largest unit that is at most `value`, or the first unit if all are larger. `rising`
/// is in ascending order.
const NamedUnit& fitting(double value, std::span<const NamedUnit> rising) {
  const NamedUnit* best = &rising[0];
  for (const NamedUnit& unit : rising) {
    if (value >= unit.factor) best = &unit;
  }
  return *best;
}

}  // namespace

Parsed<Duration> parse_duration(std::string_view text) {
  constexpr std::string_view kExpected = "a time such as \"1.9ms\" (ns, us, ms, s, min)";
  constexpr std::chrono::duration<double, std::nano> kMost = kLongestTime;
  const auto ns = text == "0" ? Parsed<double>(0) : scaled(text, kTimeUnits, kExpected);
  if (!ns) return std::unexpected(ns.error());
  if (*ns < 0 || *ns > kMost.count())
    return std::unexpected(refusal("a time from 0 to " + format_set_duration(kLongestTime), text));
  const Duration time{std::llround(*ns)};
  if (*ns > 0 && time.count() == 0)
    return std::unexpected(refusal("a time of a nanosecond or more, or none", text));
  return time;
}

Parsed<double> parse_bit_rate(std::string_view text) {
  const auto rate = scaled(text, kRateUnits, "a bit rate such as \"100Gb/s\"");
  constexpr double kLowest = kLowestRate, kHighest = kHighestRate;
  if (!rate || (*rate >= kLowest && *rate <= kHighest)) return rate;
  if (*rate <= 0) return std::unexpected(refusal("a bit rate above 0", text));
  return std::unexpected(refusal(
      "a bit rate from " + format_bit_rate(kLowest) + " to " + format_bit_rate(kHighest), text));
}

namespace {

Parsed<std::uint64_t> whole_bytes(double bytes, std::string_view text) {
  if (bytes >= 0 && bytes <= static_cast<double>(kLargestSize) && bytes == std::floor(bytes))
    return static_cast<std::uint64_t>(bytes);
  return std::unexpected(refusal(
      "a whole number of bytes from 0 to " + std::to_string(kLargestSize >> 30) + " GiB", text));
}

/// "64K" may be 64000 or 65536: says how to write each.
std::string bare_prefix(const Number& number, std::string_view text) {
  const std::string digits = significant(number.value, kAllDigits);
  const std::string prefix = number.rest == "k" ? "K" : std::string(number.rest);
  return std::string(excerpt(text)) + ": write " + digits + (prefix == "K" ? "k" : prefix) +
         "B or " + digits + prefix + "iB";
}

}  // namespace

Parsed<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kExpected =
      "a size such as \"64KiB\" or 4096 (B, kB, KiB, MB, MiB, ...)";
  const auto number = leading_number(text, kExpected);
  if (!number) return std::unexpected(number.error());
  if (number->rest.empty()) return whole_bytes(number->value, text);
  for (const NamedUnit& unit : kByteUnits)
    if (unit.name == number->rest) return whole_bytes(number->value * unit.factor, text);
  for (const NamedUnit& unit : kBareUnits)
    if (unit.name == number->rest) return std::unexpected(bare_prefix(*number, text));
  return std::unexpected(refusal(kExpected, text));
}

Parsed<std::uint64_t> parse_message_size(std::string_view text) {
  const auto bare = scaled(text, kBareUnits, {});
  return bare ? whole_bytes(*bare, text) : parse_bytes(text);
}

Parsed<double> parse_kilometres(std::string_view text) {
  const auto km = scaled(text, kLengthUnits, "a length such as \"380km\"");
  if (!km || (*km >= 0 && *km <= static_cast<double>(kLongestFibre))) return km;
  return std::unexpected(
      refusal("a length from 0 to " + std::to_string(kLongestFibre) + " km", text));
}

namespace {

constexpr double kAll = 1, kPercent = 100;

/// "0.1: write 0.1% or 10%".
std::string plain_share(double value, std::string_view text) {
  std::string sentence =
      std::string(excerpt(text)) + ": write " + significant(value, kAllDigits) + "%";
  if (value <= kAll) sentence += " or " + significant(value * kPercent, kAllDigits) + "%";
  return sentence;
}

}  // namespace

Parsed<double> parse_probability(std::string_view text) {
  constexpr std::string_view kExpected = "a share such as \"0.1%\" or 1e-3, from 0 to 100 %";
  const auto number = leading_number(text, kExpected);
  if (!number) return std::unexpected(number.error());
  const bool percent = number->rest == "%";
  const double value = percent ? number->value / 100 : number->value;
  if (!percent && !number->rest.empty()) return std::unexpected(refusal(kExpected, text));
  // 0.1 may be meant as 0.1 % or 10 %.
  const bool is_plain = !percent && value != 0 && text.find_first_of("eE") == text.npos;
  if (is_plain && value > 0 && value <= kAll * kPercent)
    return std::unexpected(plain_share(value, text));
  if (value < 0 || value > kAll) return std::unexpected(refusal(kExpected, text));
  return value;
}

namespace {

std::string duration_text(Duration duration, int digits) {
  constexpr NamedUnit kRising[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto ns = static_cast<double>(duration.count());
  const double half_a_digit = 0.5 * std::pow(10, -digits);  // 999.96 us is 1 ms
  const NamedUnit& unit = fitting(std::abs(ns) * (1 + half_a_digit), kRising);
  return significant(ns / unit.factor, digits) + " " + std::string(unit.name);
}

constexpr double kRoundsUp = 1000 / 999.95;  // 999.95 kB is 1 MB

/// A value in a decimal unit: two decimals below 100, then one.
std::string decimal_text(double value, const NamedUnit& unit) {
  const double scaled = value / unit.factor;
  return decimal(scaled, scaled < 99.995 ? 2 : 1, std::string(unit.name).c_str());
}

}  // namespace

std::string format_duration(Duration duration) { return duration_text(duration, 4); }

std::string format_set_duration(Duration duration) {
  constexpr int kMostDigits = 10;
  return duration_text(duration, kMostDigits);
}

std::string format_bit_rate(double bits_per_second) {
  constexpr NamedUnit kRising[] = {
      {"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};
  if (bits_per_second > 0 && bits_per_second < 1) {  // three digits
    const int zeros = static_cast<int>(-std::floor(std::log10(bits_per_second)));
    return decimal(bits_per_second, zeros + 2, "b/s");
  }
  return decimal_text(bits_per_second, fitting(bits_per_second * kRoundsUp, kRising));
}

std::string format_bytes(double bytes) {
  constexpr NamedUnit kRising[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  if (bytes < 999.5) return decimal(bytes, 0, "B");
  return decimal_text(bytes, fitting(std::max(bytes * kRoundsUp, 1e3), kRising));
}

std::string format_count(std::uint64_t count) {
  constexpr std::size_t kGroup = 3;
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % kGroup == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_count(std::uint64_t count, std::string_view noun) {
  return format_count(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string format_share(double share) {
  if (share == 0 || share == 1) return share == 0 ? "0 %" : "100 %";
  const int nines = share < 1 ? static_cast<int>(std::ceil(-std::log10(1 - share))) : 0;
  return significant(share * 100, std::max(3, nines)) + " %";  // 100 % is for all
}

std::string format_share(std::uint64_t part, std::uint64_t whole) {
  return format_share(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole));
}

std::string format_number(double number) {
  constexpr double kMostWhole = 9e15;
  if (!std::isfinite(number)) return "none";
  if (number != std::floor(number) || std::abs(number) >= kMostWhole) return significant(number, 4);
  std::string text = number < 0 ? "-" : "";
  return text += format_count(static_cast<std::uint64_t>(std::abs(number)));
}

}  // namespace lw

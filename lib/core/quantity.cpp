// SPDX-License-Identifier: BSD-3-Clause
#include "core/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

#include "core/limits.h"
#include "core/names.h"

namespace lw {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kTimeUnits[] = {{"ns", 1},   {"us", 1e3}, {"µs", 1e3},
                               {"ms", 1e6}, {"s", 1e9},  {"min", 60e9}};
constexpr Unit kRateUnits[] = {{"b/s", 1},      {"kb/s", 1e3},   {"Mb/s", 1e6},    {"Gb/s", 1e9},
                               {"Tb/s", 1e12},  {"bps", 1},      {"kbps", 1e3},    {"Mbps", 1e6},
                               {"Gbps", 1e9},   {"Tbps", 1e12},  {"bit/s", 1},     {"kbit/s", 1e3},
                               {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}, {"bit", 1},
                               {"kbit", 1e3},   {"Mbit", 1e6},   {"Gbit", 1e9},    {"Tbit", 1e12},
                               {"K", 1e3},      {"M", 1e6},      {"G", 1e9},       {"T", 1e12}};
constexpr Unit kByteUnits[] = {
    {"B", 1},       {"kB", 1e3},       {"MB", 1e6},         {"GB", 1e9},
    {"KiB", 1024},  {"MiB", 1048576},  {"GiB", 1073741824}, {"K", 1024},
    {"M", 1048576}, {"G", 1073741824}, {"k", 1024},         {"KB", 1024}};
constexpr Unit kLengthUnits[] = {{"km", 1}, {"m", 1e-3}};

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

Parsed<double> scaled(std::string_view text, std::span<const Unit> units,
                      std::string_view expected) {
  const auto number = leading_number(text, expected);
  if (!number) return std::unexpected(number.error());
  for (const Unit& unit : units) {
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

/// Returns the largest unit that is at most `value`, or the first unit if all are larger. `rising`
/// is in ascending order.
const Unit& fitting(double value, std::span<const Unit> rising) {
  const Unit* best = &rising[0];
  for (const Unit& unit : rising) {
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
    return std::unexpected(refusal("a time from 0 to " + format_duration(kLongestTime), text));
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

Parsed<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kExpected =
      "a size such as \"64KiB\" or 4096 (B, kB, KiB, MB, MiB, ...)";
  auto bytes = scaled(text, kByteUnits, kExpected);
  if (!bytes) {
    const auto plain = leading_number(text, kExpected);
    if (!plain || !plain->rest.empty()) return std::unexpected(refusal(kExpected, text));
    bytes = plain->value;
  }
  if (*bytes < 0 || *bytes > static_cast<double>(kLargestSize) || *bytes != std::floor(*bytes)) {
    return std::unexpected(refusal(
        "a whole number of bytes from 0 to " + std::to_string(kLargestSize >> 30) + " GiB", text));
  }
  return static_cast<std::uint64_t>(*bytes);
}

Parsed<double> parse_kilometres(std::string_view text) {
  const auto km = scaled(text, kLengthUnits, "a length such as \"380km\"");
  if (!km || (*km >= 0 && *km <= static_cast<double>(kLongestFibre))) return km;
  return std::unexpected(
      refusal("a length from 0 to " + std::to_string(kLongestFibre) + " km", text));
}

Parsed<double> parse_probability(std::string_view text) {
  constexpr std::string_view kExpected = "a probability such as \"0.1%\" or 1e-3, from 0 to 1";
  const auto number = leading_number(text, kExpected);
  if (!number) return std::unexpected(number.error());
  const bool percent = number->rest == "%";
  const double value = percent ? number->value / 100 : number->value;
  if ((!percent && !number->rest.empty()) || value < 0 || value > 1) {
    return std::unexpected(refusal(kExpected, text));
  }
  return value;
}

std::string format_duration(Duration duration) {
  constexpr Unit kRising[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto ns = static_cast<double>(duration.count());
  const Unit& unit = fitting(std::abs(ns), kRising);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.10g %s", ns / unit.factor,
                std::string(unit.name).c_str());
  return text.data();
}

std::string format_bit_rate(double bits_per_second) {
  constexpr Unit kRising[] = {
      {"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};
  if (bits_per_second > 0 && bits_per_second < 1) {  // three digits
    const int zeros = static_cast<int>(-std::floor(std::log10(bits_per_second)));
    return decimal(bits_per_second, zeros + 2, "b/s");
  }
  const Unit& unit = fitting(bits_per_second, kRising);
  return decimal(bits_per_second / unit.factor, 2, std::string(unit.name).c_str());
}

std::string format_bytes(double bytes) {
  constexpr Unit kRising[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  const Unit& unit = fitting(bytes, kRising);
  return decimal(bytes / unit.factor, unit.factor == 1 ? 0 : 2, std::string(unit.name).c_str());
}

}  // namespace lw

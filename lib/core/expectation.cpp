// SPDX-License-Identifier: BSD-3-Clause
#include "core/expectation.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

namespace lw {
namespace {

using Relation = Expectation::Relation;
using ValueUnit = Expectation::Unit;

struct RelationName {
  std::string_view text;
  Relation relation;
};
// Longest first: otherwise "<=" would be read as "<".
constexpr RelationName kRelations[] = {{"<=", Relation::at_most}, {">=", Relation::at_least},
                                       {"==", Relation::equal},   {"!=", Relation::other},
                                       {"<", Relation::below},    {">", Relation::above},
                                       {"=", Relation::equal}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// A number and the unit of what it measures.
struct Amount {
  ValueUnit unit{};
  double value = 0;
};

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

Parsed<Amount> parse_amount(std::string_view text) {
  if (text == "true" || text == "false")
    return Amount{ValueUnit::truth, text == "true" ? 1.0 : 0.0};
  if (const auto number = plain_number(text)) return Amount{ValueUnit::none, *number};
  if (text.ends_with('%'))
    if (const auto number = plain_number(trimmed(text.substr(0, text.size() - 1))))
      return Amount{ValueUnit::share, *number / 100};
  if (const auto time = parse_duration(text))
    return Amount{ValueUnit::time, static_cast<double>(time->count())};
  if (const auto rate = parse_bit_rate(text)) return Amount{ValueUnit::rate, *rate};
  if (const auto size = parse_bytes(text))
    return Amount{ValueUnit::size, static_cast<double>(*size)};
  return std::unexpected(
      "expected a number, with a unit or without (12, 0.1%, 1.9ms, 10Gb/s, 64KiB), true or false, "
      "found \"" +
      std::string(text) + "\"");
}

/// The value as it was given.
std::string_view value_of(const Expectation& expectation) {
  const std::string_view limit = expectation.limit;
  return limit.substr(limit.find(' ') + 1);
}

Parsed<void> wrong_limit(const Expectation& expectation, std::string_view expected) {
  return std::unexpected("expected " + std::string(expected) + ", found \"" + expectation.limit +
                         "\"");
}

}  // namespace

bool Expectation::compares(double measured, double to) const noexcept {
  switch (relation) {
    case Relation::at_most:
      return measured <= to;
    case Relation::below:
      return measured < to;
    case Relation::at_least:
      return measured >= to;
    case Relation::above:
      return measured > to;
    case Relation::equal:
      return measured == to;
    case Relation::other:
      return measured != to;
  }
  return false;
}

Parsed<Expectation> parse_expectation(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of("<>=!"), text.size());
  const std::string_view name = trimmed(text.substr(0, end)), behind = text.substr(end);
  const auto relation = std::ranges::find_if(
      kRelations, [&](const RelationName& each) { return behind.starts_with(each.text); });
  if (relation == std::end(kRelations) || name.empty())
    return std::unexpected("expected NAME<=VALUE, or one of < >= > == != in place of <=, found \"" +
                           std::string(text) + "\"");
  const std::string_view value = trimmed(behind.substr(relation->text.size()));
  const auto amount = parse_amount(value);
  if (!amount) return std::unexpected(std::string(name) + ": " + amount.error());
  return Expectation{.text = std::string(text),
                     .name = std::string(name),
                     .limit = std::string(relation->text) + " " + std::string(value),
                     .relation = relation->relation,
                     .unit = amount->unit,
                     .value = amount->value};
}

Parsed<void> check_limit(const Expectation& expectation, ValueUnit unit) {
  const double value = expectation.value;
  const bool is_number = expectation.unit == ValueUnit::none;
  const bool is_share =
      (is_number || expectation.unit == ValueUnit::share) && value >= 0 && value <= 1;
  const bool is_count = is_number && value >= 0 && value == std::floor(value);
  if (unit == ValueUnit::time && expectation.unit != ValueUnit::time)
    return wrong_limit(expectation, "a time (1.9ms)");
  if (unit == ValueUnit::rate && expectation.unit != ValueUnit::rate)
    return wrong_limit(expectation, "a rate (10Gb/s)");
  if (unit == ValueUnit::share && !is_share) return wrong_limit(expectation, "a share (0.1%)");
  if (unit == ValueUnit::share && is_number)
    if (const auto share = parse_probability(value_of(expectation)); !share)
      return std::unexpected(share.error());
  if (unit == ValueUnit::none && !is_count && (is_number || !is_share))
    return wrong_limit(expectation, "a number of frames or a share (12, 0.1%)");
  if (expectation.relation == Relation::below && value <= 0)
    return wrong_limit(expectation, "a bound above 0 after <");
  return {};
}

std::string_view unit_text(ValueUnit unit) noexcept {
  switch (unit) {
    case ValueUnit::none:
      return "a number";
    case ValueUnit::share:
      return "a share";
    case ValueUnit::time:
      return "a time";
    case ValueUnit::rate:
      return "a rate";
    case ValueUnit::size:
      return "a size";
    case ValueUnit::truth:
      return "true or false";
  }
  return {};
}

}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#include "report/judgement.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/figure_paths.h"

namespace lw::report {
namespace {

using ValueUnit = Expectation::Unit;

double number_of(const Json& figure) {
  return figure.is_boolean() ? (figure.get<bool>() ? 1 : 0) : figure.get<double>();
}

FigureValue value_of(const Json& figure) {
  if (figure.is_boolean()) return figure.get<bool>();
  if (figure.is_number_unsigned()) return figure.get<std::uint64_t>();
  if (figure.is_number_integer()) return figure.get<std::int64_t>();
  return figure.get<double>();
}

/// A value in the words of the limit that it is compared with.
std::string text_of(const Json& figure, const Expectation& expectation, double scale) {
  if (expectation.unit == ValueUnit::none) return figure.dump();
  return value_text(expectation.unit, number_of(figure) * scale);
}

Judgement judge_one(const Expectation& expectation, const FoundFigure& found) {
  Judgement judgement = {.figure = found.path,
                         .expected = expectation.text,
                         .place = expectation.place,
                         .limit = expectation.limit};
  const Json& figure = *found.node;
  if (figure.is_null()) return judgement;  // nothing was measured
  if (!figure.is_number() && !figure.is_boolean()) {
    judgement.error =
        fmt::format("{} is not a figure: it is of type {}", found.path, figure.type_name());
    return judgement;
  }
  judgement.measured = value_of(figure);
  const FigureScale scale = scale_of(found);
  if (const auto kind = check_kind(expectation, found.path, scale.unit); !kind) {
    judgement.error = kind.error();
    return judgement;
  }
  const double of_one = expectation.unit == ValueUnit::none ? 1 : scale.scale;
  judgement.value = text_of(figure, expectation, of_one);
  judgement.holds = expectation.compares(number_of(figure), expectation.value / of_one);
  return judgement;
}

}  // namespace

std::string value_text(ValueUnit unit, double value) {
  switch (unit) {
    case ValueUnit::none:
      break;
    case ValueUnit::share:
      return fmt::format("{:.6g} %", value * 100);
    case ValueUnit::time:
      return format_duration(Duration{std::llround(value)});
    case ValueUnit::rate:
      return fmt::format("{:.6g} Gb/s", value / 1e9);
    case ValueUnit::size:
      return fmt::format("{:.0f} B", value);
    case ValueUnit::truth:
      return value != 0 ? "true" : "false";
  }
  return fmt::format("{:.6g}", value);
}

std::vector<Judgement> judge(const Expectation& expectation, const Json& report,
                             const JsonOutput* output) {
  std::vector<Judgement> judgements;
  for (const FoundFigure& found : figures_named(report, expectation.name, output))
    judgements.push_back(judge_one(expectation, found));
  if (judgements.empty())
    judgements.push_back({.figure = expectation.name,
                          .expected = expectation.text,
                          .place = expectation.place,
                          .limit = expectation.limit,
                          .error = no_figure(report, expectation.name)});
  return judgements;
}

Judgement judge_value(const Expectation& expectation, std::string of, ValueUnit unit,
                      std::optional<double> measured, double whole) {
  Judgement judgement = {.of = std::move(of),
                         .figure = expectation.name,
                         .expected = expectation.text,
                         .place = expectation.place,
                         .limit = expectation.limit};
  if (!measured) return judgement;
  judgement.measured = *measured;
  judgement.value = value_text(unit, *measured);
  judgement.holds = expectation.compares(*measured, expectation.value * whole);
  return judgement;
}

std::string Judgement::sentence() const {
  const std::string what = of.empty() ? figure : of + ": " + figure;
  if (!error.empty()) return fmt::format("{} {}: cannot be judged", what, limit);
  return fmt::format("{} {}, expected {}: {}", what, value, limit, holds ? "met" : "not met");
}

const FigureTable& Judgement::figures() {
  using Row = FigureOf<Judgement>;
  static constexpr Figure kRows[] = {
      Row::of<&Judgement::of>("of", "What the figure is of: a flow, a direction.").if_any(),
      Row::of<&Judgement::expected>("expected", "The expectation."),
      Row::of<&Judgement::figure>("figure", "Path of the figure, or its short name."),
      Row::of<&Judgement::measured>("measured", "The figure; null without one.").or_null(),
      Row::of<&Judgement::holds>("holds", "True if it holds."),
      Row::of<&Judgement::error>("error", "Why it cannot be judged.").if_any()};
  static constexpr FigureTable kTable{"An expectation, judged by a figure.", kRows};
  return kTable;
}

TestCase test_case_of(const Judgement& judgement, const std::string& suite) {
  const auto dump = [](const auto& value) { return Json(value).dump(); };
  return {.suite = judgement.of.empty() ? suite : judgement.of,
          .name = judgement.figure + " " + judgement.limit,
          .measured = judgement.measured ? std::visit(dump, *judgement.measured) : "none",
          .expected = judgement.limit,
          .passed = judgement.holds,
          .error = judgement.error,
          .sentence = judgement.sentence()};
}

RequestedRow row_of(const Judgement& judgement) {
  const auto text = [](const auto& value) {
    const Json json = value;
    return json.is_number() ? number_text(json.get<double>()) : json.dump();
  };
  const std::string unmeasured = judgement.error.empty() ? "none" : judgement.error;
  return {judgement.of.empty() ? judgement.figure : judgement.of + ": " + judgement.figure,
          judgement.expected,
          judgement.measured ? std::visit(text, *judgement.measured) : unmeasured, judgement.holds};
}

}  // namespace lw::report

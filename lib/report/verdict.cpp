// SPDX-License-Identifier: BSD-3-Clause
#include "report/verdict.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/question.h"
#include "report/figure_paths.h"
#include "report/figures/json.h"

namespace lw::report {
namespace {

using ValueUnit = Expectation::Unit;

constexpr std::size_t kMostShown = 20;  // of each kind

double number_of(const Json& figure) {
  return figure.is_boolean() ? (figure.get<bool>() ? 1 : 0) : figure.get<double>();
}

FigureValue value_of(const Json& figure) {
  if (figure.is_boolean()) return figure.get<bool>();
  if (figure.is_number_unsigned()) return figure.get<std::uint64_t>();
  if (figure.is_number_integer()) return figure.get<std::int64_t>();
  return figure.get<double>();
}

/// A value in the unit of the limit that it is compared with.
std::string text_of(const Json& figure, const Expectation& expectation, double scale) {
  if (expectation.unit == ValueUnit::truth) return figure.dump();
  return value_text(expectation.unit, number_of(figure) * scale);
}

Judgement judgement_of(const Expectation& expectation, std::string name) {
  return {.name = std::move(name), .asked = expectation.text, .asked_by = expectation.place};
}

Judgement& cannot_judge(Judgement& judgement, std::string why) {
  judgement.observed = judgement.name + " cannot be judged";
  judgement.reason = std::move(why);
  judgement.failure = ExitCode::usage;
  return judgement;
}

Judgement judge_one(const Expectation& expectation, const FoundFigure& found) {
  Judgement judgement = judgement_of(expectation, found.path);
  const Json& figure = *found.node;
  if (figure.is_null()) {
    judgement.observed = found.path + " none";
    judgement.reason = "nothing was measured";
    return judgement;
  }
  if (!figure.is_number() && !figure.is_boolean())
    return cannot_judge(judgement, fmt::format("{} is not a figure: it is of type {}", found.path,
                                               figure.type_name()));
  judgement.measured = value_of(figure);
  judgement.observations = 1;
  const FigureScale scale = scale_of(found);
  if (const auto kind = check_kind(expectation, found.path, scale.unit); !kind)
    return cannot_judge(judgement, kind.error());
  const double of_one = expectation.unit == ValueUnit::none ? 1 : scale.scale;
  judgement.observed = found.path + " " + text_of(figure, expectation, of_one);
  const bool holds = expectation.compares(number_of(figure), expectation.value / of_one);
  judgement.holds = holds ? Holds::yes : Holds::no;
  return judgement;
}

std::string line_of(const Judgement& judgement) {
  const bool failed = judgement.holds != Holds::yes;
  return judgement.sentence() + "\n" +
         (failed && !judgement.remedy.empty() ? "  " + judgement.remedy + "\n" : "");
}

/// The first 20 statements. `what`: what the further ones are.
std::string lines_of(const std::vector<const Judgement*>& statements, std::string_view what) {
  std::string text;
  const std::size_t shown = std::min(statements.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) text += line_of(*statements[i]);
  if (shown < statements.size())
    text += fmt::format("and {} further {}\n", statements.size() - shown, what);
  return text;
}

}  // namespace

std::vector<Judgement> judge_figures(const Expectation& expectation, const Json& report,
                                     const JsonOutput* output) {
  std::vector<Judgement> judgements;
  for (const FoundFigure& found : figures_named(report, expectation.name, output))
    judgements.push_back(judge_one(expectation, found));
  if (!judgements.empty()) return judgements;
  Judgement none = judgement_of(expectation, expectation.name);
  judgements.push_back(cannot_judge(none, no_figure(report, expectation.name)));
  return judgements;
}

std::string text_of(const Verdict& verdict) {
  std::vector<const Judgement*> held;
  for (const Judgement& each : verdict.all())
    if (!each.asked_by.empty() && each.colour() == Colour::green) held.push_back(&each);
  const std::vector<const Judgement*> remarkable = verdict.remarkable();
  std::string text = lines_of(remarkable, "statements do not hold, or have a remark");
  if (text.empty()) text = verdict.headline() + "\n";
  return text + lines_of(held, "expectations hold");
}

void add_verdict(std::string& line, const Verdict& verdict) {
  std::string json = json_line(json_of(verdict));
  json.pop_back();  // the newline
  line.insert(line.rfind('}'), ",\"verdict\":" + json);
}

void add_verdict(Prometheus& out, std::string_view prefix, const Verdict& verdict) {
  out.family(fmt::format("{}verdict", prefix), Prometheus::Type::gauge,
             "What was asked of the run: 0 it holds, 1 it holds with a remark or is unknown, 2 "
             "it does not hold.");
  std::map<std::array<std::string, 3>, Colour> worst;  // statements with equal labels are one
  for (const Judgement& each : verdict.all()) {
    Colour& colour = worst[{each.name, each.of, each.asked}];
    colour = std::max(colour, each.colour());
  }
  for (const auto& [labels, colour] : worst)
    out.sample({{"statement", labels[0]}, {"of", labels[1]}, {"asked", labels[2]}},
               static_cast<std::uint64_t>(colour));
}

}  // namespace lw::report

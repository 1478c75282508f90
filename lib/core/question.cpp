// SPDX-License-Identifier: BSD-3-Clause
#include "core/question.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lw {
namespace {

using ValueUnit = Expectation::Unit;

/// The implied limit as an expectation.
Expectation implied(const Question& question, const Observation& observation) {
  std::string text(question.name);
  text += observation.limit.empty() ? question.limit : std::string_view(observation.limit);
  return parse_expectation(text).value_or(Expectation{});
}

bool permits(const Expectation& limit, const Observation& observation, ValueUnit unit) noexcept {
  const bool of_whole = unit == ValueUnit::none && limit.unit == ValueUnit::share;
  return limit.compares(*observation.value, limit.value * (of_whole ? observation.whole : 1));
}

/// True for a limit that every larger value keeps.
bool is_lower_limit(const Expectation& limit) noexcept {
  return limit.relation == Expectation::Relation::at_least ||
         limit.relation == Expectation::Relation::above;
}

std::string text_of(const Observation& observation, const Question& question) {
  if (!observation.text.empty()) return observation.text;
  const std::string name(question.name);
  return name + " " + (observation.value ? value_text(question.unit, *observation.value) : "none");
}

/// A judgement without its answer.
Judgement statement_of(const Observation& observation, const Question& question) {
  Judgement judgement{
      .name = std::string(question.name),
      .of = observation.of,
      .asked = observation.asked.empty() ? std::string(question.asked) : observation.asked,
      .asked_by = observation.asked_by,
      .observed = text_of(observation, question),
      .where = observation.where.empty() ? std::string(question.where) : observation.where,
      .remedy = observation.remedy,
      .observations = observation.count,
      .failure = observation.failure};
  if (observation.value) judgement.measured = *observation.value;
  return judgement;
}

/// Sets whether a limit holds, and why.
void answer(Judgement& judgement, const Observation& observation, const Expectation& limit,
            ValueUnit unit) {
  const std::string& unsure = observation.unsure;
  if (!observation.value) {
    judgement.reason = unsure.empty() ? "nothing was measured" : unsure;
    return;
  }
  const bool holds = permits(limit, observation, unit);
  const bool may_be_more = observation.is_lower_bound && is_lower_limit(limit);
  judgement.holds = holds ? Holds::yes : Holds::no;
  judgement.reason = holds ? observation.remark : observation.broken;
  if (unsure.empty() && holds && judgement.reason.empty()) judgement.remedy.clear();
  if (unsure.empty()) return;
  judgement.reason = unsure;
  if (holds != may_be_more) judgement.holds = Holds::unknown;
}

}  // namespace

Judge::Judge(std::span<const Question> questions, std::vector<Expectation> expectations)
    : questions_(questions) {
  for (Expectation& each : expectations) expectations_.push_back({std::move(each)});
}

void Judge::add(const Observation& observation) {
  const Question* question = find_question(questions_, observation.name);
  if (question == nullptr) return;
  bool asked = false;
  for (auto& [expectation, judged] : expectations_) {
    if (expectation.name != observation.name) continue;
    asked = judged = true;
    Judgement judgement = statement_of(observation, *question);
    judgement.asked = expectation.text;
    judgement.asked_by = expectation.place;
    answer(judgement, observation, expectation, question->unit);
    verdict_.add(std::move(judgement));
  }
  if (asked || question->asked.empty()) return;
  Judgement judgement = statement_of(observation, *question);
  answer(judgement, observation, implied(*question, observation), question->unit);
  if ((question->noted || observation.noted) && judgement.holds == Holds::no) {
    judgement.holds = Holds::yes;
    if (judgement.reason.empty()) judgement.reason = "no expectation bounds it";
  }
  verdict_.add(std::move(judgement));
}

bool Judge::expects(std::string_view name) const noexcept {
  return std::ranges::any_of(expectations_,
                             [&](const Asked& each) { return each.expectation.name == name; });
}

std::optional<double> Judge::most(std::string_view name) const noexcept {
  std::optional<double> most;
  for (const auto& [expectation, judged] : expectations_) {
    if (expectation.name != name) continue;
    const bool is_bound = expectation.relation == Expectation::Relation::at_most ||
                          expectation.relation == Expectation::Relation::below ||
                          expectation.relation == Expectation::Relation::equal;
    const double bound = is_bound ? expectation.value : std::numeric_limits<double>::infinity();
    most = std::min(most.value_or(bound), bound);
  }
  return most;
}

Verdict Judge::finish() {
  for (auto& [expectation, judged] : expectations_) {
    if (std::exchange(judged, true)) continue;
    verdict_.add({.name = expectation.name,
                  .asked = expectation.text,
                  .asked_by = expectation.place,
                  .observed = expectation.name + " none",
                  .reason = "this run has no such figure"});
  }
  return std::move(verdict_);
}

const Question* find_question(std::span<const Question> questions, std::string_view name) noexcept {
  const auto found = std::ranges::find(questions, name, &Question::name);
  return found == questions.end() ? nullptr : &*found;
}

Parsed<void> check_question(const Expectation& expectation, const Question& question) {
  auto fits = check_limit(expectation, question.unit);
  if (!fits) return std::unexpected(expectation.name + ": " + fits.error());
  return fits;
}

std::string question_names(std::span<const Question> questions) {
  std::string names;
  for (const Question& each : questions)
    names.append(names.empty() ? ", or one of " : ", ").append(each.name);
  return names;
}

std::string value_text(ValueUnit unit, double value) {
  switch (unit) {
    case ValueUnit::none:
      break;
    case ValueUnit::share:
      return format_share(value);
    case ValueUnit::time:
      return format_duration(Duration{std::llround(value)});
    case ValueUnit::rate:
      return format_bit_rate(value);
    case ValueUnit::size:
      return format_bytes(value);
    case ValueUnit::truth:
      return value != 0 ? "true" : "false";
  }
  return format_number(value);
}

}  // namespace lw

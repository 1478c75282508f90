// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/explanation.h"

#include <algorithm>

#include <fmt/format.h>

#include "dissect/explain/overview.h"
#include "dissect/explain/questions/answers.h"
#include "dissect/explain/questions/capture.h"
#include "dissect/explain/questions/losses.h"
#include "dissect/explain/questions/rate.h"
#include "dissect/explain/questions/setup.h"
#include "dissect/explain/questions/validity.h"

namespace lw::dissect {
namespace {

/// All questions, in the order in which an operator asks.
std::vector<Answer> ask_all(const Facts& facts) {
  constexpr Answer (*kAll[])(const Facts&) = {
      ask_capture, ask_setup, ask_answers, ask_validity, ask_losses, ask_congestion, ask_rate};
  std::vector<Answer> answers;
  for (const auto ask : kAll) answers.push_back(ask(facts));
  return answers;
}

/// The worst first, then the most expensive; a cause before the recoveries from it.
bool comes_before(const Statement& a, const Statement& b) {
  static constexpr std::string_view kRecovery = "retransmission";
  if (a.severity != b.severity) return a.severity < b.severity;
  if (a.cost != b.cost) return a.cost > b.cost;
  return a.topic != kRecovery && b.topic == kRecovery;
}

/// Moves the statements out of the answers, and leaves their numbers there.
std::vector<Statement> statements_of(std::vector<Answer>& answers) {
  std::vector<Statement> all;
  for (Answer& answer : answers)
    for (Statement& statement : answer.statements) all.push_back(std::move(statement));
  std::ranges::stable_sort(all, comes_before);
  for (Answer& answer : answers) {
    answer.statements.clear();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].question == answer.question)
        answer.numbers.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return all;
}

}  // namespace

bool Explanation::nothing_is_wrong() const noexcept {
  if (followed == Followed::nothing) return false;
  return std::ranges::none_of(answers, [](const Answer& a) { return a.health == Health::wrong; });
}

std::string Explanation::unknown() const {
  std::string text;
  for (const Answer& answer : answers)
    if (answer.health == Health::cannot_tell)
      text += fmt::format("{}{}", text.empty() ? "" : " ", text_of(answer.question));
  return text;
}

Explanation explain(const Evidence& evidence, const CounterReport* counters) {
  const std::vector<AnomalyGroup> groups = groups_of(evidence);
  const Facts facts{.evidence = evidence, .groups = groups, .counters = counters};
  Explanation found{.overview = overview_of(facts),
                    .answers = ask_all(facts),
                    .statements = {},
                    .congestion = congestion_of(facts),
                    .path = path_verdict(evidence),
                    .followed = evidence.totals.followed()};
  found.statements = statements_of(found.answers);
  return found;
}

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/args.h>

#include "dissect/explain/facts/statement.h"

namespace lw::dissect {

/// How an answer is.
enum class Health : std::uint8_t { fine, wrong, cannot_tell };
std::string_view name_of(Health health) noexcept;  // "cannot tell"

/// A question, answered: how it is, why, and the statements that show it.
struct Answer {
  OperatorQuestion question{};
  Health health = Health::cannot_tell;
  std::string text;                         // part of a sentence
  std::vector<Statement> statements = {};   // its evidence
  std::vector<std::uint32_t> numbers = {};  // of these among all statements, from 1

  static const FigureTable& figures();
};

/// The values of the {names} in the sentences of a question.
class Words {
 public:
  template <class Value>
  void add(const char* name, const Value& value) {
    store_.push_back(fmt::arg(name, value));
  }
  [[nodiscard]] std::string fill(std::string_view sentence) const {
    return fmt::vformat(sentence, store_);
  }

 private:
  fmt::dynamic_format_arg_store<fmt::format_context> store_;
};

/// A row of a question's table: the first one that holds gives the answer.
template <class Found>
struct AnswerRow {
  bool (*holds)(const Found& found);
  Health health;
  std::string_view sentence;  // with the {names} of Words
};

/// The answer by a table, whose last row always holds. A harmful statement makes it wrong.
template <class Found>
Answer answer_of(OperatorQuestion question, std::span<const AnswerRow<Found>> rows,
                 const Found& found, const Words& words, std::vector<Statement> statements) {
  for (const AnswerRow<Found>& row : rows) {
    if (!row.holds(found)) continue;
    Answer answer{.question = question,
                  .health = row.health,
                  .text = words.fill(row.sentence),
                  .statements = std::move(statements)};
    for (const Statement& statement : answer.statements)
      if (statement.is_harmful()) answer.health = Health::wrong;
    return answer;
  }
  return {.question = question, .text = {}};
}

}  // namespace lw::dissect

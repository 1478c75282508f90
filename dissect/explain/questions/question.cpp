// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/questions/question.h"

namespace lw::dissect {

std::string_view name_of(Health health) noexcept {
  constexpr std::string_view kNames[] = {"fine", "wrong", "cannot tell"};
  return kNames[static_cast<std::size_t>(health)];
}

const FigureTable& Answer::figures() {
  using Row = FigureOf<Answer>;
  static constexpr Figure kRows[] = {
      Row::of<&Answer::question>("question",
                                 "capture, setup, answers, validity, losses, congestion or rate."),
      Row::of<[](const Answer& a) { return text_of(a.question); }>("asks", "The question."),
      Row::of<&Answer::health>("verdict", "fine, wrong or cannot tell."),
      Row::of<&Answer::text>("reason", "Why, as a part of a sentence."),
      Row::of<&Answer::numbers>("statements", "Numbers of the statements that show it, from 1.")};
  static constexpr FigureTable kTable{"A question of an operator, and its answer.", kRows};
  return kTable;
}

}  // namespace lw::dissect

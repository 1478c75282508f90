// SPDX-License-Identifier: BSD-3-Clause
#include "core/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw {
namespace verdict_test {

using testing::ElementsAre;

Judgement judgement(Holds holds, std::string asked_by = {}, std::string reason = {}) {
  return {.name = "loss",
          .asked = "loss <= 1%",
          .asked_by = std::move(asked_by),
          .observed = "3 of 100 frames never came",
          .holds = holds,
          .reason = std::move(reason)};
}

TEST(Judgement, has_a_colour_and_an_exit_code) {
  const struct {
    Holds holds;
    const char *asked_by, *reason;
    Colour colour;
    ExitCode exit;
  } cases[] = {
      {Holds::yes, "", "", Colour::green, ExitCode::done},
      {Holds::yes, "--expect", "", Colour::green, ExitCode::done},
      {Holds::yes, "", "of few frames", Colour::amber, ExitCode::done},
      {Holds::unknown, "", "no clock", Colour::amber, ExitCode::done},
      {Holds::unknown, "--expect", "no clock", Colour::red, ExitCode::failed},
      {Holds::no, "", "", Colour::red, ExitCode::failed},
      {Holds::no, "--expect", "", Colour::red, ExitCode::failed},
  };
  for (const auto& [holds, asked_by, reason, colour, exit] : cases) {
    const Judgement each = judgement(holds, asked_by, reason);
    EXPECT_EQ(each.colour(), colour) << each.sentence();
    EXPECT_EQ(each.exit(), exit) << each.sentence();
  }
}

TEST(Judgement, has_the_exit_code_of_its_failure_only_if_it_fails) {
  Judgement file = judgement(Holds::no);
  file.failure = ExitCode::environment;
  EXPECT_EQ(file.exit(), ExitCode::environment);
  file.holds = Holds::yes;
  EXPECT_EQ(file.exit(), ExitCode::done);
}

TEST(Judgement, is_a_sentence) {
  EXPECT_EQ(judgement(Holds::no).sentence(), "does not hold: 3 of 100 frames never came");
  Judgement asked = judgement(Holds::unknown, "x.toml:3:8", "9 samples were left out");
  asked.of = "web";
  EXPECT_EQ(asked.sentence(),
            "cannot tell: web: 3 of 100 frames never came; asked: loss <= 1% (x.toml:3:8): 9 "
            "samples were left out");
}

TEST(Verdict, is_its_worst_judgement) {
  Verdict verdict;
  EXPECT_EQ(verdict.colour(), Colour::green);
  EXPECT_EQ(verdict.exit(), ExitCode::done);
  verdict.add(judgement(Holds::yes));
  EXPECT_EQ(verdict.headline(), "holds: 1 statement");
  verdict.add(judgement(Holds::unknown, "", "no clock"));
  EXPECT_EQ(verdict.colour(), Colour::amber);
  EXPECT_EQ(verdict.holds(), Holds::unknown);
  EXPECT_EQ(verdict.exit(), ExitCode::done);
  verdict.add(judgement(Holds::yes, "", "small"));
  verdict.add(judgement(Holds::no));
  EXPECT_EQ(verdict.colour(), Colour::red);
  EXPECT_EQ(verdict.holds(), Holds::no);
  EXPECT_EQ(verdict.exit(), ExitCode::failed);
  EXPECT_EQ(verdict.headline(), "does not hold: 3 of 100 frames never came");
  const auto& all = verdict.all();
  EXPECT_THAT(verdict.remarkable(), ElementsAre(&all[3], &all[1], &all[2]));
}

TEST(Verdict, takes_the_judgements_of_another) {
  Verdict verdict, other;
  other.add(judgement(Holds::no));
  verdict.add(judgement(Holds::yes));
  verdict.add(other);
  EXPECT_EQ(verdict.all().size(), 2U);
  EXPECT_EQ(verdict.colour(), Colour::red);
}

}  // namespace verdict_test
}  // namespace lw

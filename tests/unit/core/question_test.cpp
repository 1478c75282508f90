// SPDX-License-Identifier: BSD-3-Clause
#include "core/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw {
namespace question_test {

using testing::ElementsAre;
using testing::HasSubstr;
using Unit = Expectation::Unit;

constexpr Question kQuestions[] = {
    {.name = "loss",
     .meaning = "share that never came",
     .unit = Unit::share,
     .asked = "every frame comes",
     .limit = "== 0",
     .where = "receiver"},
    {.name = "copies",
     .meaning = "further copies",
     .asked = "no frame comes twice",
     .limit = "== 0",
     .where = "receiver",
     .noted = true},
    {.name = "p99", .meaning = "99th percentile", .unit = Unit::time, .where = "receiver"},
    {.name = "rate",
     .meaning = "share of the rate",
     .unit = Unit::share,
     .asked = "within 1 %",
     .limit = ">= 99%",
     .where = "sender"},
};

Verdict judged(const std::vector<Observation>& observations,
               const std::vector<const char*>& expectations = {}) {
  std::vector<Expectation> expected;
  for (const char* each : expectations) expected.push_back(*parse_expectation(each));
  Judge judge(kQuestions, std::move(expected));
  for (const Observation& each : observations) judge.add(each);
  return judge.finish();
}

std::vector<std::string> sentences(const Verdict& verdict) {
  std::vector<std::string> all;
  for (const Judgement& each : verdict.all()) all.push_back(each.sentence());
  return all;
}

TEST(Judge, asks_by_itself) {
  const Verdict verdict =
      judged({{.name = "loss", .of = "web", .value = 0.5, .text = "half came", .count = 100}});
  ASSERT_EQ(verdict.all().size(), 1);
  const Judgement& only = verdict.all().front();
  EXPECT_EQ(only.colour(), Colour::red);
  EXPECT_EQ(only.asked, "every frame comes");
  EXPECT_EQ(only.asked_by, "");
  EXPECT_EQ(only.where, "receiver");
  EXPECT_EQ(only.observations, 100);
  EXPECT_EQ(only.sentence(), "does not hold: web: half came");
  EXPECT_EQ(judged({{.name = "loss", .value = 0}}).colour(), Colour::green);
}

TEST(Judge, an_expectation_replaces_the_limit_of_its_name) {
  const Observation half{.name = "loss", .value = 0.5};
  EXPECT_EQ(judged({half}, {"loss<=50%"}).colour(), Colour::green);
  EXPECT_EQ(judged({half}, {"loss<=49%"}).colour(), Colour::red);
  // Two of them are judged both.
  EXPECT_THAT(sentences(judged({half}, {"loss<=60%", "loss>=51%"})),
              ElementsAre("holds: loss 50 %; asked: loss<=60% (--expect)",
                          "does not hold: loss 50 %; asked: loss>=51% (--expect)"));
  // Another name replaces nothing.
  EXPECT_EQ(judged({half, {.name = "rate", .value = 1}}, {"rate>=50%"}).colour(), Colour::red);
}

TEST(Judge, what_is_noted_is_amber_unless_somebody_asks) {
  const Observation three{.name = "copies", .value = 3, .text = "3 copies", .whole = 100};
  const Verdict verdict = judged({three});
  EXPECT_EQ(verdict.colour(), Colour::amber);
  EXPECT_EQ(verdict.exit(), ExitCode::done);
  EXPECT_THAT(sentences(verdict), ElementsAre("note: 3 copies: no expectation bounds it"));
  EXPECT_EQ(judged({three}, {"copies==0"}).exit(), ExitCode::failed);
  EXPECT_EQ(judged({three}, {"copies<=3%"}).colour(), Colour::green);  // of the whole
  EXPECT_EQ(judged({three}, {"copies<=2%"}).colour(), Colour::red);
  EXPECT_EQ(judged({{.name = "loss", .value = 0.1, .noted = true}}).colour(), Colour::amber);
}

TEST(Judge, a_figure_without_a_limit_is_judged_only_if_asked_for) {
  const Observation slow{.name = "p99", .value = 2e6};
  EXPECT_TRUE(judged({slow}).empty());
  EXPECT_THAT(sentences(judged({slow}, {"p99<=1ms"})),
              ElementsAre("does not hold: p99 2 ms; asked: p99<=1ms (--expect)"));
}

TEST(Judge, what_leaves_samples_out_cannot_be_told) {
  const Observation some{.name = "p99", .value = 1e6, .unsure = "9 of 20 samples are left out"};
  const Verdict asked = judged({some}, {"p99<=2ms"});
  EXPECT_EQ(asked.holds(), Holds::unknown);
  EXPECT_EQ(asked.exit(), ExitCode::failed);
  EXPECT_THAT(sentences(asked), ElementsAre(HasSubstr("9 of 20 samples are left out")));
  // What the samples alone break is broken.
  EXPECT_EQ(judged({some}, {"p99<=0.5ms"}).holds(), Holds::no);
  const Observation none{.name = "loss", .unsure = "the sender is not known"};
  EXPECT_EQ(judged({none}).colour(), Colour::amber);
  EXPECT_EQ(judged({none}, {"loss<=1%"}).colour(), Colour::red);
}

TEST(Judge, a_lower_bound_answers_lower_limits) {
  const Observation at_least{
      .name = "rate", .value = 0.5, .is_lower_bound = true, .unsure = "not offered above"};
  EXPECT_EQ(judged({at_least}, {"rate>=50%"}).holds(), Holds::yes);
  EXPECT_EQ(judged({at_least}, {"rate<=50%"}).holds(), Holds::unknown);
  EXPECT_EQ(judged({at_least}, {"rate>=51%"}).holds(), Holds::unknown);
  EXPECT_EQ(judged({at_least}, {"rate<=49%"}).holds(), Holds::no);
  EXPECT_EQ(judged({at_least}).colour(), Colour::amber);
}

TEST(Judge, an_expectation_of_nothing_that_was_observed_cannot_be_told) {
  const Verdict verdict = judged({{.name = "loss", .value = 0}}, {"p99<=1ms"});
  EXPECT_THAT(sentences(verdict), ElementsAre("holds: loss 0 %",
                                              "cannot tell: p99 none; asked: p99<=1ms (--expect): "
                                              "this run has no such figure"));
  EXPECT_EQ(verdict.exit(), ExitCode::failed);
}

TEST(Judge, an_observation_may_have_limits_of_its_own) {
  const Verdict verdict = judged({{.name = "rate",
                                   .value = 0.5,
                                   .text = "half the rate",
                                   .asked = "at least half",
                                   .asked_by = "x.toml:3:8",
                                   .limit = ">= 50%",
                                   .where = "port"}});
  const Judgement& only = verdict.all().front();
  EXPECT_EQ(only.colour(), Colour::green);
  EXPECT_EQ(only.where, "port");
  EXPECT_EQ(only.sentence(), "holds: half the rate; asked: at least half (x.toml:3:8)");
}

TEST(Judge, knows_the_largest_share_that_is_permitted) {
  Judge judge(kQuestions, {*parse_expectation("loss<=1%"), *parse_expectation("loss<0.5%"),
                           *parse_expectation("rate>=99%")});
  EXPECT_EQ(judge.most("loss"), 0.005);
  EXPECT_EQ(judge.most("copies"), std::nullopt);
  EXPECT_TRUE(judge.expects("rate"));
  EXPECT_FALSE(judge.expects("copies"));
}

TEST(Question, checks_the_kind_of_an_expectation) {
  const auto error = [](const char* text) {
    const auto expectation = *parse_expectation(text);
    const auto fits = check_question(expectation, *find_question(kQuestions, expectation.name));
    return fits ? std::string() : fits.error();
  };
  EXPECT_EQ(error("loss<=1%"), "");
  EXPECT_EQ(error("loss<=0.1"), "loss: 0.1: write 0.1% or 10%");
  EXPECT_THAT(error("p99<=1%"), HasSubstr("a time"));
  EXPECT_EQ(find_question(kQuestions, "lost"), nullptr);
  EXPECT_EQ(question_names(kQuestions), ", or one of loss, copies, p99, rate");
  EXPECT_EQ(question_names({}), "");
}

}  // namespace question_test
}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/machine_questions.h"

namespace lw {
namespace machine_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

Instant at(Duration time) { return Instant{1h + time}; }

TEST(StallWatch, finds_the_longest_gap_and_its_begin) {
  StallWatch watch;
  watch.start(at(0ns));
  for (const Duration time : {10us, 500us, 600us}) watch.poll(at(time));
  EXPECT_EQ(watch.stalls().count, 0);
  watch.poll(at(5600us));
  watch.poll(at(5700us));
  watch.poll(at(305'700us));
  watch.poll(at(307'700us));
  EXPECT_EQ(watch.stalls().count, 3);
  EXPECT_EQ(watch.stalls().total, 307ms);
  EXPECT_EQ(watch.stalls().longest, 300ms);
  EXPECT_EQ(watch.stalls().longest_at, 5700us);
}

TEST(StallWatch, sleep_is_none) {
  StallWatch watch;
  watch.start(at(0ns));
  watch.sleeps(50ms);
  watch.poll(at(50'500us));
  EXPECT_EQ(watch.stalls().count, 0);
  watch.sleeps(50ms);
  watch.poll(at(51ms));  // woken early
  watch.poll(at(51'100us));
  EXPECT_EQ(watch.stalls().count, 0);
  watch.sleeps(50ms);
  watch.poll(at(151'100us));
  EXPECT_EQ(watch.stalls().longest, 50ms);
}

TEST(LossTimes, are_those_of_samples) {
  LossTimes times;
  times.sample(0, 1s);
  EXPECT_FALSE(times.first);
  times.sample(5, 2s);
  times.sample(5, 3s);
  times.sample(9, 4s);
  times.sample(9, 5s);
  EXPECT_EQ(times.first, 1s);  // it began after the sample before
  EXPECT_EQ(times.last, 4s);
  EXPECT_EQ(times.lost, 9);
}

Machine machine(std::uint64_t lost, std::uint64_t frames, Duration stall = {}) {
  Machine all{.losses = {{.place = "port west",
                          .how = "before it received them",
                          .lost = lost,
                          .frames = frames,
                          .first = 1s,
                          .last = 2s,
                          .remedy = "use more cores"},
                         {.place = "the pool", .how = "for want of a buffer", .frames = frames}},
              .elapsed = 10s};
  if (stall > 0ns)
    all.stalls = {.watched = true, .count = 1, .total = stall, .longest = stall, .longest_at = 3s};
  return all;
}

Verdict judged(const Machine& machine, std::optional<double> asked_loss = {},
               std::vector<Expectation> expectations = {}) {
  Judge judge(kMachineQuestions, std::move(expectations));
  observe(judge, machine, "this box", asked_loss);
  return judge.finish();
}

TEST(Machine, losses_are_named_with_share_place_and_moment) {
  const Verdict verdict = judged(machine(464'560, 1'023'477));
  EXPECT_EQ(verdict.exit(), ExitCode::failed);
  EXPECT_EQ(verdict.headline(),
            "does not hold: this box lost 464,560 of 1,023,477 frames (45.4 %) at port west before "
            "it received them: its results are those of an overloaded box, between 1 s and 2 s "
            "after the start");
  EXPECT_EQ(verdict.remarkable().front()->remedy, "use more cores");
}

TEST(Machine, may_lose_a_hundredth_of_a_percent) {
  EXPECT_EQ(judged(machine(0, 1'000'000)).colour(), Colour::green);
  const Verdict few = judged(machine(100, 1'000'000));
  EXPECT_EQ(few.colour(), Colour::amber);
  EXPECT_THAT(few.headline(), HasSubstr("note: this box lost 100 of 1,000,000 frames (0.01 %)"));
  EXPECT_EQ(judged(machine(101, 1'000'000)).colour(), Colour::red);
}

TEST(Machine, may_lose_a_tenth_of_the_loss_asked_for) {
  EXPECT_EQ(judged(machine(50, 1'000'000), 0.0005).colour(), Colour::amber);
  EXPECT_EQ(judged(machine(51, 1'000'000), 0.0005).colour(), Colour::red);
  // Never more than 0.01 %.
  EXPECT_EQ(judged(machine(101, 1'000'000), 0.5).colour(), Colour::red);
}

TEST(Machine, a_long_stall_is_amber) {
  EXPECT_EQ(judged(machine(0, 1000, 99ms)).colour(), Colour::green);
  const Verdict verdict = judged(machine(0, 1000, 300ms));
  EXPECT_EQ(verdict.colour(), Colour::amber);
  EXPECT_THAT(verdict.headline(),
              HasSubstr("this box stood still for 300 ms at most: 3 s after the start; 300 ms in "
                        "all, 3 % of the run"));
}

TEST(Machine, what_nobody_watched_is_no_statement) {
  EXPECT_EQ(judged(machine(0, 1000)).all().size(), 1);
  Machine unseen = machine(0, 1000, 5ms);
  unseen.losses.clear();
  EXPECT_EQ(judged(unseen).all().size(), 1);
  EXPECT_EQ(judged(unseen, {}, strict_machine(kMachineQuestions)).exit(), ExitCode::failed);
}

TEST(Machine, is_judged_strictly) {
  const auto strict = strict_machine(kMachineQuestions);
  ASSERT_EQ(strict.size(), 2);
  EXPECT_EQ(judged(machine(0, 1'000'000, 2ms), {}, strict).colour(), Colour::green);
  EXPECT_EQ(judged(machine(1, 1'000'000), {}, strict).exit(), ExitCode::failed);
  EXPECT_EQ(judged(machine(0, 1'000, 300ms), {}, strict).exit(), ExitCode::failed);
  EXPECT_THAT(judged(machine(1, 1'000), {}, strict).headline(), HasSubstr("(--strict-machine)"));
  EXPECT_TRUE(strict_machine({}).empty());
}

TEST(Machine, adds_up) {
  Machine both = machine(1, 100, 5ms);
  both.add(machine(2, 100, 7ms));
  EXPECT_EQ(both.lost(), 3);
  EXPECT_EQ(both.share(), 0.02);  // of the worst place
  EXPECT_EQ(both.stalls.count, 2);
  EXPECT_EQ(both.stalls.longest, 7ms);
}

}  // namespace machine_test
}  // namespace lw

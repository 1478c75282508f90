// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/run_audit.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lw::impair {
namespace run_audit_test {

using emulator::Check;
using emulator::CheckUnit;
using emulator::Direction;
using emulator::Stage;

/// The checks of rule "r" over the whole run. Its last configuration is still in force.
std::vector<Check> whole_run(const std::vector<Check>& spans) {
  RunAudits audits;
  for (std::size_t i = 0; i + 1 < spans.size(); ++i)
    audits.add(Direction::west_to_east, "r", std::span(&spans[i], 1));
  DirectionReport direction;
  direction.accounting.direction.name = "west-to-east";
  direction.stages.push_back({.rule = "r", .stats = {}, .checks = {spans.back()}});
  const std::vector<RunAudit> all = audits.with(std::span(&direction, 1));
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all.back().rule, "r");
  EXPECT_EQ(all.back().configurations, spans.size());
  return all.back().checks;
}

TEST(RunAudit, SharesAreWeightedWithTheirFrames) {
  const auto checks = whole_run({emulator::binomial(Stage::loss, "lost", 10'000, 1'000, 0.1),
                                 emulator::binomial(Stage::loss, "lost", 30'000, 15'100, 0.5)});
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].frames, 40'000U);
  EXPECT_NEAR(checks[0].asked, 0.4, 1e-12);
  EXPECT_NEAR(checks[0].seen, 16'100 / 40'000.0, 1e-12);
  EXPECT_TRUE(checks[0].holds());
  // Deviations of independent counts: 30 and 86.6 frames.
  const double deviation = std::hypot(30, std::sqrt(7500)) / 40'000;
  EXPECT_GE(checks[0].high - 0.4, emulator::kDeviations * deviation);
  EXPECT_LE(checks[0].high - 0.4, 1.2 * emulator::kDeviations * deviation);
}

/// Each of 100 configurations loses a little more than it may on average: none alone tells.
TEST(RunAudit, FindsWhatNoConfigurationShowsAlone) {
  const std::vector<Check> spans(100, emulator::binomial(Stage::loss, "lost", 1000, 130, 0.1));
  EXPECT_TRUE(spans[0].holds());
  EXPECT_FALSE(whole_run(spans)[0].holds());
  const std::vector<Check> right(100, emulator::binomial(Stage::loss, "lost", 1000, 101, 0.1));
  EXPECT_TRUE(whole_run(right)[0].holds());
}

TEST(RunAudit, FewFramesOfManyConfigurationsRaiseNoFalseAlarm) {
  // 0.1 of a frame is expected of each: 100 times that is 10, of which 3 are not unlikely.
  std::vector<Check> spans(100, emulator::binomial(Stage::loss, "lost", 100, 0, 0.001));
  for (std::size_t i = 0; i < 3; ++i)
    spans[i] = emulator::binomial(Stage::loss, "lost", 100, 1, 0.001);
  EXPECT_TRUE(whole_run(spans)[0].holds());
}

/// A model that stays where it is for longer than the run: any share is right in the first span.
TEST(RunAudit, ASpanThatCannotTellRaisesNoFalseAlarm) {
  const Check all_or_nothing{Stage::loss, "lost", 800, 1.0, 0.0, 0.0, 1.0};
  ASSERT_FALSE(all_or_nothing.enough());
  const Check few = emulator::binomial(Stage::loss, "lost", 1000, 0, 0.001);
  EXPECT_TRUE(whole_run({all_or_nothing, few})[0].holds());
  const Check wrong = emulator::binomial(Stage::loss, "lost", 10'000, 900, 0.001);
  EXPECT_FALSE(whole_run({few, wrong})[0].holds());
}

/// Where each span allows any share, the whole run does, in spite of rounded sums.
TEST(RunAudit, SpansThatCannotTellAllowAnyShare) {
  for (const double asked : {0.1, 0.3, 0.5, 0.7, 0.9})
    for (const std::uint64_t hits : {0, 1})
      for (std::uint64_t frames = 1; frames < 8; ++frames) {
        const Check any =
            emulator::binomial(Stage::reorder, "held back", frames, hits * frames, asked);
        if (any.enough()) continue;
        for (std::size_t spans = 2; spans < 8; ++spans)
          EXPECT_FALSE(whole_run(std::vector<Check>(spans, any))[0].enough())
              << asked << ", " << frames << " frames, " << spans << " spans";
      }
}

TEST(RunAudit, RatesAreAddedAsTimes) {
  // 1 Mb at 1 Gb/s take 1 ms, and 1 Mb at 4 Gb/s 0.25 ms, with an error of 1 us each.
  const auto rate = [](double asked, double seen) {
    const double time = 1e6 / asked;
    return Check{
        Stage::queue,        "rate while busy",          100, asked, seen, 1e6 / (time + 1e-6),
        1e6 / (time - 1e-6), CheckUnit::bits_per_second, 1e6};
  };
  const auto checks = whole_run({rate(1e9, 1e9), rate(4e9, 4e9)});
  EXPECT_NEAR(checks[0].asked, 2e6 / 1.25e-3, 1);
  EXPECT_NEAR(checks[0].low, 2e6 / (1.25e-3 + 2e-6), 1);
  EXPECT_TRUE(checks[0].holds());
  EXPECT_FALSE(whole_run({rate(1e9, 1.01e9), rate(4e9, 4e9)})[0].holds());
}

TEST(RunAudit, LargestValuesHaveNoSum) {
  const Check fullest{Stage::queue, "fullest buffer", 10, 1000, 900, 0, 1000, CheckUnit::bytes};
  EXPECT_TRUE(whole_run({fullest, fullest}).empty());
}

TEST(RunAudit, BytesThatLeftAreThoseOfTheAccounts) {
  RunAudits audits;
  const Check lost = emulator::binomial(Stage::loss, "lost", 1000, 100, 0.1);
  audits.add(Direction::west_to_east, "r", std::span(&lost, 1));
  DirectionReport direction;
  emulator::Account& account = direction.accounting.direction;
  account.name = "west-to-east";
  account.received = {10, 1000};
  account.dropped_by_rule = {1, 100};
  account.sent = {9, 900};
  EXPECT_TRUE(audits.with(std::span(&direction, 1))[0].checks[0].holds());
  account.sent.bytes = 901;
  EXPECT_FALSE(audits.with(std::span(&direction, 1))[0].checks[0].holds());
  direction.release_error.count = 9;
  direction.release_error.minimum = -1;
  EXPECT_FALSE(audits.with(std::span(&direction, 1))[0].checks[1].holds());
}

TEST(RunAudit, WithoutChangesThereIsNone) {
  EXPECT_TRUE(RunAudits().with(std::vector<DirectionReport>(2)).empty());
}

}  // namespace run_audit_test
}  // namespace lw::impair

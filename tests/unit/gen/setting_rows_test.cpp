// SPDX-License-Identifier: BSD-3-Clause
// Settings that are rows are the same after JSON and back.
#include <gtest/gtest.h>

#include "emulator/rule_config.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"
#include "sim/network/topology.h"
#include "sim/network/workload.h"

namespace lw {
namespace setting_rows_test {

template <class T>
T through_json(const T& object) {
  T read;
  const auto done = report::read_json(report::json_of(object), read);
  EXPECT_TRUE(done) << (done ? "" : done.error());
  return read;
}

TEST(SettingRows, StagesOfARule) {
  emulator::RuleConfig rule;
  rule.police = {.rate_bps = 20e9, .burst_bytes = 1'000'000, .overhead = 0};
  rule.corrupt = {.probability = 0.25,
                  .bits = 3,
                  .part = emulator::CorruptConfig::Part::udp_length,
                  .offset = 4,
                  .recompute_icrc = false,
                  .correlation = 0.5};
  rule.duplicate = {.probability = 1e-6, .copies = 16, .correlation = 0};
  rule.rewrite = {.probability = 0.5, .dscp = {}, .ecn = 2};
  rule.mark = {.probability = 0,
               .red = emulator::Red{.kmin_bytes = 1, .kmax_bytes = 9, .share = 0.1, .step = true},
               .not_ect = emulator::NotEct::drop,
               .force = true};
  rule.queue = {.rate_bps = 1e10,
                .buffer_bytes = 16'000'000,
                .overhead = 20,
                .cell = 48,
                .cell_overhead = 5,
                .pfc = emulator::PauseConfig{.priority = 5, .emit = {{600'000, 400'000}}}};
  rule.slot = {.least = Duration(0), .most = Duration(1'200'000), .frames = 32};
  rule.reorder = {.fraction = 0.01, .gap = 5, .swap = false, .correlation = 0.1};
  rule.accumulate = {.frames = 32, .time = Duration(5'000'000)};
  emulator::RuleConfig read;
  const report::Json json = report::json_of(emulator::rule_settings(), &rule);
  EXPECT_EQ(json.size(), emulator::rule_settings().rows.size());
  const auto done = report::read_json(json, emulator::rule_settings(), &read);
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(report::json_of(emulator::rule_settings(), &read), json);
  EXPECT_EQ(read.police, rule.police);
  EXPECT_EQ(read.corrupt, rule.corrupt);
  EXPECT_EQ(read.duplicate, rule.duplicate);
  EXPECT_EQ(read.rewrite, rule.rewrite);
  EXPECT_EQ(read.mark, rule.mark);
  EXPECT_EQ(read.queue, rule.queue);
  EXPECT_EQ(read.slot, rule.slot);
  EXPECT_EQ(read.reorder, rule.reorder);
  EXPECT_EQ(read.accumulate, rule.accumulate);
}

TEST(SettingRows, ARuleWithoutStagesHasNone) {
  const emulator::RuleConfig rule;
  EXPECT_EQ(report::json_of(emulator::rule_settings(), &rule).dump(), "{}");
}

TEST(SettingRows, SwitchesAndSendings) {
  sim::SwitchConfig node{.name = "west",
                         .buffer_bytes = 40'000'000,
                         .alpha = 0.5,
                         .pause = true,
                         .response = Duration(80),
                         .headroom_bytes = 9'000,
                         .queue_per_input = true,
                         .latency = Duration(500)};
  node.classes = {{.priority = 3, .weight = 1}, {.priority = 0, .weight = 9}};
  node.marking = emulator::Red{.kmin_bytes = 5, .kmax_bytes = 7, .share = 1, .on_leaving = true};
  const sim::SwitchConfig read = through_json(node);
  EXPECT_EQ(report::json_of(read), report::json_of(node));
  EXPECT_EQ(read.classes, node.classes);
  EXPECT_EQ(read.marking, node.marking);
  EXPECT_EQ(read.headroom_bytes, node.headroom_bytes);

  const sim::Sending sending{.pattern = sim::SendPattern::permutation,
                             .qps = 16,
                             .size = 65536,
                             .messages = 4,
                             .load = 0.25,
                             .start = Duration(9),
                             .start_within = Duration(11)};
  const sim::Sending again = through_json(sending);
  EXPECT_EQ(report::json_of(again), report::json_of(sending));
  EXPECT_EQ(again.pattern, sending.pattern);
  EXPECT_EQ(again.size, sending.size);
}

TEST(SettingRows, ThresholdsOfASwitchByName) {
  for (const char* text : {"auto", "none", "0.5"}) {
    sim::SwitchConfig node;
    report::Json json = report::json_of(node);
    json["alpha"] = text;
    ASSERT_TRUE(report::read_json(json, node));
    EXPECT_EQ(report::json_of(node)["alpha"], text);
  }
}

}  // namespace setting_rows_test
}  // namespace lw

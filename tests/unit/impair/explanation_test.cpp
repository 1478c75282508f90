// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/explanation.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/figures/json.h"

namespace lw::impair {
namespace explanation_test {
namespace {

using ::testing::HasSubstr;

config::ImpairProfile profile_of(std::string_view text) {
  auto profile = config::parse_impair_profile(text, "test.toml");
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? *profile : config::ImpairProfile{};
}

std::string match_of(const std::string& condition) {
  return explanation_text(profile_of("[[rule]]\nmatch = {" + condition + "}\nloss = \"1%\"\n"));
}

/// Every stage but the outage, which only a path has.
constexpr const char* kAllStages = R"(
[[rule]]
name = "all"
police = {rate = "20Gb/s", burst = "1MB"}
loss = "0.1%"
corrupt = "0.2%"
duplicate = "0.3%"
limit = 500
rewrite = {dscp = 0, ecn = "not-ect"}
mark = "0.4%"
queue = {rate = "10Gb/s", buffer = "2MB"}
slot = {min = "1us", frames = 3}
delay = "1ms"
jitter = {distribution = "uniform", low = "0us", high = "5us"}
order = "free"
reorder = {fraction = "0.5%", time = "10us"}
)";

config::ImpairProfile all_stages() {
  config::ImpairProfile profile = profile_of(kAllStages);
  emulator::RuleConfig& rule = profile.rules.front();
  rule.outage = true;
  rule.accumulate.emplace();
  rule.trace = emulator::TraceConfig{.rows = {{Duration{5}, {}, {}, {}}}, .period = {}};
  return profile;
}

TEST(Explanation, HasWordsForEveryRegisteredStage) {
  const auto profile = all_stages();
  const auto statements = explain_stages(profile.rules.front());
  emulator::Stages::for_each([&]<class S>() {
    if (std::is_same_v<S, emulator::TargetedEvents>) return;  // explained with the events
    EXPECT_TRUE(std::ranges::find(statements, S::kName, &Statement::key) != statements.end())
        << S::kName;
  });
}

TEST(Explanation, NamesStagesInTheirOrderWithUnits) {
  std::string text;
  for (const auto& statement : explain_stages(all_stages().rules.front()))
    text += statement.text + "\n";
  std::size_t from = 0;
  for (const char* part :
       {"path is down", "exceeds 20.00 Gb/s and a burst of 1.00 MB", "Drop 0.1 %", "Corrupt 0.2 %",
        "Duplicate 0.3 %", "Mark 0.4 %", "at 10.00 Gb/s with a buffer of 2.00 MB", "by 1 ms",
        "random delay", "overtake", "a trace of 1 row over 5 ns", "Reorder 0.5 %"}) {
    const auto found = text.find(part, from);
    ASSERT_NE(found, std::string::npos) << part << " in " << text;
    from = found;
  }
}

TEST(Explanation, NamesTheClassOfASharedQueue) {
  const auto profile = profile_of(R"(
[[rule]]
name = "first"
match = {dscp = 26}
queue = {rate = "10Gb/s", buffer = "2MB", classes = {0 = {}, 1 = {priority = 1, weight = 3}}}
[[rule]]
name = "other"
queue = {shared = "first", class = 1}
)");
  const std::string text = explanation_text(profile);
  for (const char* part :
       {"through a queue of several rules or classes at 10.00 Gb/s with a buffer of 2.00 MB",
        "through the queue of rule first at 10.00 Gb/s",
        "in class 1: the highest priority is sent first (here 1)", "their weights (here 3)"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Explanation, HasWordsForEveryMatchKey) {
  const std::pair<const char*, const char*> keys[] = {
      {"frames = \"all\"", "any frame"},
      {"source = \"10.0.0.0/8\"", "IP source is 10.0.0.0/8"},
      {"destination = \"10.0.0.1\"", "IP destination is 10.0.0.1/32"},
      {"vlan = \"5-9\"", "VLAN tag is 5-9"},
      {"dscp = [26, 48]", "DSCP is 26 or 48"},
      {"opcode = 4", "opcode is RC SEND ONLY"},
      {"transport = \"uc\", position = \"only\"", "UC SEND ONLY"},
      {"operation = \"cnp\"", "opcode is"},
      {"dst_qp = 17", "destination QP is 17"},
      {"psn = 7", "PSN is 7"},
      {"kind = \"nak\"", "of kind nak"},
      {"filter = \"udp\"", "pcap filter \"udp\" holds"},
      {"tunnel = \"srv6\"", "within a tunnel of kind srv6"},
      {"tunnel = [\"vxlan\", \"geneve\"], vni = \"5-9\"", "the tunnel's VNI is 5-9"}};
  for (const auto& [key, words] : keys) EXPECT_THAT(match_of(key), HasSubstr(words)) << key;
}

TEST(Explanation, NamesUnmatchedFramesEventsAndScenario) {
  const auto profile = profile_of(R"(
[[rule]]
name = "far"
delay = "1ms"
[[event]]
name = "one"
qp = 2
psn = 7
action = "delay"
delay = "3us"
[[at]]
time = "2s"
rule = "far"
set = {delay = "4ms"}
[[flap]]
name = "cut"
port = "west"
down = "200ms"
)");
  const std::string text = explanation_text(profile);
  for (const char* part :
       {"Frames that no rule matches pass at once", "with PSN 7 to QP number 2", "delay it by 3 us",
        "After 2 s: far delay = \"4ms\"", "On command: west down; 200 ms later: west up."})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = report::json_of(explanation_figures(), &profile);
  EXPECT_EQ(json["rules"][0]["stages"][0]["stage"], "delay");
  EXPECT_EQ(json["events"].size(), 1);
  EXPECT_EQ(json["scenario"].size(), 2);
}

}  // namespace
}  // namespace explanation_test
}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include "report/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/figure_paths.h"
#include "report/figures/json.h"

namespace lw::report {
namespace judgement_test {

using testing::ElementsAre;
using testing::HasSubstr;

Json report() {
  return Json::parse(R"({"frames": 100, "holds": true, "clock": "tai", "none": null,
    "flows": [{"name": "web", "lost": 3, "latency_ns": {"p50": 1000, "p99.9": 9000}},
              {"name": "bulk.1", "lost": 7, "latency_ns": {"p50": 2000, "p99.9": 8000}}],
    "sizes": [64, 128], "goodput_gbps": 9.5, "t_avg_usec": 4.5, "bytes": 2048, "loss": 0.01,
    "rate_achieved": {"value": 5e8}})");
}

std::vector<Judgement> judged(const std::string& text) {
  const auto expectation = parse_expectation(text);
  EXPECT_TRUE(expectation) << text;
  return judge(expectation.value_or(Expectation{}), report());
}

std::vector<std::string> paths(const std::string& name) {
  const Json all = report();
  std::vector<std::string> paths;
  for (const FoundFigure& found : figures_named(all, name)) paths.push_back(found.path);
  return paths;
}

TEST(Judgement, finds_figures_by_path) {
  EXPECT_THAT(paths("frames"), ElementsAre("frames"));
  EXPECT_THAT(paths("flows.web.lost"), ElementsAre("flows.web.lost"));
  EXPECT_THAT(paths("flows.bulk.1.lost"), ElementsAre("flows.bulk.1.lost"));
  EXPECT_THAT(paths("flows.1.lost"), ElementsAre("flows.bulk.1.lost"));
  EXPECT_THAT(paths("flows.*.latency_ns.p99.9"),
              ElementsAre("flows.web.latency_ns.p99.9", "flows.bulk.1.latency_ns.p99.9"));
  EXPECT_THAT(paths("sizes.1"), ElementsAre("sizes.1"));
  for (const char* name : {"frame", "frames.", "flows.web.lost.x", "flows.2.lost", "sizes.2", "."})
    EXPECT_THAT(paths(name), ElementsAre()) << name;
}

TEST(Judgement, compares_with_the_figure) {
  for (const char* text : {"frames == 100", "frames < 101", "frames != 99", "holds == true",
                           "holds != false", "flows.*.lost < 8", "flows.web.latency_ns.p50 <= 1us",
                           "goodput_gbps >= 9.5Gb/s", "t_avg_usec <= 4.5us", "bytes = 2KiB",
                           "loss <= 1%", "loss <= 0.01", "rate_achieved.value >= 500Mb/s"})
    for (const Judgement& each : judged(text)) {
      EXPECT_TRUE(each.holds) << text;
      EXPECT_EQ(each.error, "") << text;
    }
  for (const char* text : {"frames < 100", "holds == false", "flows.web.lost > 3", "none == 0",
                           "goodput_gbps < 9500Mb/s", "t_avg_usec < 4500ns", "loss < 1%"})
    for (const Judgement& each : judged(text)) {
      EXPECT_FALSE(each.holds) << text;
      EXPECT_EQ(each.error, "") << text;
    }
}

TEST(Judgement, is_one_for_each_figure) {
  const auto each = judged("flows.*.lost<5");
  ASSERT_EQ(each.size(), 2);
  EXPECT_TRUE(each[0].holds);
  EXPECT_EQ(each[0].measured, FigureValue(std::uint64_t{3}));
  EXPECT_FALSE(each[1].holds);
  EXPECT_EQ(json_of(each[1]),
            Json::parse(R"({"expected": "flows.*.lost<5", "figure": "flows.bulk.1.lost",
                            "measured": 7, "holds": false})"));
}

struct Part {
  double wait = 1.5;
  std::uint64_t count = 3;

  static const FigureTable& figures() {
    using Row = FigureOf<Part>;
    static constexpr Figure kRows[] = {Row::of<&Part::wait>("wait", "Time.", Unit::us),
                                       Row::of<&Part::count>("count_ns", "Number of times.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

struct Timed {
  Part whole = {};
  std::vector<Part> parts = {};

  static const FigureTable& figures() {
    using Row = FigureOf<Timed>;
    static constexpr Figure kRows[] = {Row::rows_of<&Timed::whole>(),
                                       Row::of<&Timed::parts>("parts", "Parts.").if_any()};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

TEST(Judgement, takes_the_unit_from_the_table) {
  constexpr JsonOutput kOutput{.name = "timed", .title = "a test", .figures = &Timed::figures};
  const Json report = json_of(Timed{.parts = {Part{}}});
  const auto one = [&](const char* text) {
    return judge(*parse_expectation(text), report, &kOutput).front();
  };
  EXPECT_TRUE(one("wait<1501ns").holds);
  EXPECT_FALSE(one("wait<1499ns").holds);
  EXPECT_TRUE(one("parts.0.wait<=1.5us").holds);
  EXPECT_THAT(one("count_ns<5us").error, HasSubstr("count_ns is a number"));  // not by its name
  EXPECT_TRUE(one("count_ns<5").holds);
}

TEST(Judgement, is_a_sentence_in_the_unit_of_the_limit) {
  const auto said = [](const char* text) { return judged(text).front().sentence(); };
  EXPECT_EQ(said("loss < 1%"), "loss 1 %, expected < 1%: not met");
  EXPECT_EQ(said("loss < 0.1"), "loss 0.01, expected < 0.1: met");
  EXPECT_EQ(said("flows.web.latency_ns.p50<2us"),
            "flows.web.latency_ns.p50 1 us, expected < 2us: met");
  EXPECT_EQ(said("goodput_gbps>=9Gb/s"), "goodput_gbps 9.5 Gb/s, expected >= 9Gb/s: met");
  EXPECT_EQ(said("bytes=2KiB"), "bytes 2048 B, expected = 2KiB: met");
  EXPECT_EQ(said("holds==true"), "holds true, expected == true: met");
  EXPECT_EQ(said("none==0"), "none none, expected == 0: not met");
  EXPECT_EQ(said("framse<1"), "framse < 1: cannot be judged");
  EXPECT_EQ(judge_value(*parse_expectation("lost<=1%"), "web", Expectation::Unit::none, 12, 1000)
                .sentence(),
            "web: lost 12, expected <= 1%: not met");
}

TEST(Judgement, is_checked_by_the_table_before_there_is_a_report) {
  constexpr JsonOutput kOutput{.name = "timed", .title = "a test", .figures = &Timed::figures};
  const auto error = [&](const char* text) {
    const auto checked = check_figure(*parse_expectation(text), kOutput);
    return checked ? "" : checked.error();
  };
  for (const char* text : {"wait<1us", "wait<1", "parts.0.wait<1us", "parts.any.name.wait<1us",
                           "parts.*.count_ns<5", "count_ns>=0"})
    EXPECT_EQ(error(text), "") << text;
  EXPECT_THAT(error("wiat<1us"), HasSubstr("no figure \"wiat\": did you mean \"wait\"?"));
  EXPECT_THAT(error("parts.0.wiat<1us"), HasSubstr("did you mean \"parts.*.wait\""));
  EXPECT_THAT(error("parts<1"), HasSubstr("no figure \"parts\""));
  EXPECT_THAT(error("parts.x.count_ns<1us"), HasSubstr("parts.x.count_ns is a number"));
  EXPECT_THAT(error("wait<1Gb/s"), HasSubstr("wait is a time"));
}

TEST(Judgement, names_the_figures_that_are_near) {
  const auto error = [](const char* text) { return judged(text).front().error; };
  EXPECT_THAT(error("lost<1"), HasSubstr(R"(did you mean "flows.web.lost", "flows.bulk.1.lost"?)"));
  EXPECT_THAT(error("framse<1"), HasSubstr(R"(did you mean "frames"?)"));
  EXPECT_THAT(error("flows.web.lots<1"), HasSubstr(R"("flows.web.lost")"));
  EXPECT_THAT(error("entirely.elsewhere<1"), HasSubstr("--json shows all"));
  EXPECT_FALSE(judged("framse!=1").front().holds);
}

TEST(Judgement, refuses_values_of_another_kind) {
  const auto error = [](const char* text) { return judged(text).front().error; };
  EXPECT_THAT(error("frames<2ms"), HasSubstr("frames is a number: expected a number"));
  EXPECT_THAT(error("bytes<2ms"), HasSubstr("bytes is a size"));
  EXPECT_THAT(error("flows.web.latency_ns.p50<1Gb/s"), HasSubstr("is a time"));
  EXPECT_THAT(error("t_avg_usec<10%"), HasSubstr("is a time"));
  EXPECT_THAT(error("holds==1"), HasSubstr("holds is true or false"));
  EXPECT_THAT(error("frames==true"), HasSubstr("frames is a number"));
  EXPECT_THAT(error("clock==1"), HasSubstr("clock is not a figure: it is of type string"));
  EXPECT_THAT(error("flows!=1"), HasSubstr("of type array"));
  EXPECT_FALSE(judged("bytes!=2ms").front().holds);
}

TEST(Judgement, becomes_a_test_case) {
  const TestCase holds = test_case_of(judged("flows.web.lost < 5").front(), "roce-gen run");
  EXPECT_EQ(holds.suite, "roce-gen run");
  EXPECT_EQ(holds.name, "flows.web.lost < 5");
  EXPECT_EQ(holds.measured, "3");
  EXPECT_EQ(holds.expected, "< 5");
  EXPECT_TRUE(holds.passed);
  EXPECT_EQ(test_case_of(judged("none < 5").front(), "").measured, "none");
}

TEST(Junit, counts_failures_and_errors_by_suite) {
  const TestCase cases[] = {{"a", "one", "1", "<2", true},
                            {"b", "two", "2", "<2", false},
                            {"a", "three", "none", "<2", false, "no figure"}};
  EXPECT_EQ(junit_xml("roce-gen run", cases), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="roce-gen run" tests="3" failures="1" errors="1">
  <testsuite name="a" tests="2" failures="0" errors="1" skipped="0" time="0">
    <testcase classname="a" name="one" time="0"><properties><property name="measured" value="1"/><property name="expected" value="&lt;2"/></properties><system-out>measured: 1</system-out></testcase>
    <testcase classname="a" name="three" time="0"><properties><property name="measured" value="none"/><property name="expected" value="&lt;2"/></properties><error type="expectation" message="no figure"/></testcase>
  </testsuite>
  <testsuite name="b" tests="1" failures="1" errors="0" skipped="0" time="0">
    <testcase classname="b" name="two" time="0"><properties><property name="measured" value="2"/><property name="expected" value="&lt;2"/></properties><failure type="expectation" message="measured: 2"/></testcase>
  </testsuite>
</testsuites>
)");
}

TEST(Junit, escapes_what_xml_reserves_or_cannot_hold) {
  const TestCase cases[] = {{"<&>\"", "tab\tbad\xff", "\x01", "", true}};
  const std::string xml = junit_xml("p", cases);
  EXPECT_THAT(xml, HasSubstr("classname=\"&lt;&amp;&gt;&quot;\""));
  EXPECT_THAT(xml, HasSubstr("name=\"tab\xef\xbf\xbd"
                             "bad\xef\xbf\xbd\""));
  EXPECT_THAT(xml, HasSubstr("measured: \xef\xbf\xbd<"));
}

}  // namespace judgement_test
}  // namespace lw::report

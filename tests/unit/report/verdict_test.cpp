// SPDX-License-Identifier: BSD-3-Clause
#include "report/verdict.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/figure_paths.h"
#include "report/figures/json.h"
#include "report/junit.h"

namespace lw::report {
namespace verdict_test {

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
  return judge_figures(expectation.value_or(Expectation{}), report());
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
    for (const Judgement& each : judged(text)) EXPECT_EQ(each.colour(), Colour::green) << text;
  for (const char* text : {"frames < 100", "holds == false", "flows.web.lost > 3",
                           "goodput_gbps < 9500Mb/s", "t_avg_usec < 4500ns", "loss < 1%"})
    for (const Judgement& each : judged(text)) {
      EXPECT_EQ(each.holds, Holds::no) << text;
      EXPECT_EQ(each.exit(), ExitCode::failed) << text;
    }
}

TEST(Judgement, is_one_for_each_figure) {
  const auto each = judged("flows.*.lost<5");
  ASSERT_EQ(each.size(), 2);
  EXPECT_EQ(each[0].holds, Holds::yes);
  EXPECT_EQ(each[0].measured, FigureValue(std::uint64_t{3}));
  EXPECT_EQ(each[1].holds, Holds::no);
  EXPECT_EQ(each[1].name, "flows.bulk.1.lost");
}

TEST(Judgement, of_nothing_that_was_measured_cannot_be_told) {
  const Judgement none = judged("none == 0").front();
  EXPECT_EQ(none.holds, Holds::unknown);
  EXPECT_EQ(none.exit(), ExitCode::failed);
  EXPECT_EQ(none.measured, std::nullopt);
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
    return judge_figures(*parse_expectation(text), report, &kOutput).front();
  };
  EXPECT_EQ(one("wait<1501ns").holds, Holds::yes);
  EXPECT_EQ(one("wait<1499ns").holds, Holds::no);
  EXPECT_EQ(one("parts.0.wait<=1.5us").holds, Holds::yes);
  EXPECT_THAT(one("count_ns<5us").reason, HasSubstr("count_ns is a number"));  // not by its name
  EXPECT_EQ(one("count_ns<5").holds, Holds::yes);
}

TEST(Judgement, is_a_sentence_in_the_unit_of_the_limit) {
  const auto said = [](const char* text) { return judged(text).front().sentence(); };
  EXPECT_EQ(said("loss < 1%"), "does not hold: loss 1 %; asked: loss < 1% (--expect)");
  EXPECT_EQ(said("loss < 0.1"), "holds: loss 0.01; asked: loss < 0.1 (--expect)");
  EXPECT_EQ(said("flows.web.latency_ns.p50<2us"),
            "holds: flows.web.latency_ns.p50 1 us; asked: flows.web.latency_ns.p50<2us (--expect)");
  EXPECT_EQ(said("goodput_gbps>=9Gb/s"),
            "holds: goodput_gbps 9.50 Gb/s; asked: goodput_gbps>=9Gb/s (--expect)");
  EXPECT_EQ(said("bytes=2KiB"), "holds: bytes 2.05 kB; asked: bytes=2KiB (--expect)");
  EXPECT_EQ(said("holds==true"), "holds: holds true; asked: holds==true (--expect)");
  EXPECT_EQ(said("none==0"),
            "cannot tell: none none; asked: none==0 (--expect): nothing was measured");
  EXPECT_THAT(said("framse<1"), HasSubstr("cannot tell: framse cannot be judged"));
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
  const auto error = [](const char* text) { return judged(text).front().reason; };
  EXPECT_THAT(error("lost<1"), HasSubstr(R"(did you mean "flows.web.lost", "flows.bulk.1.lost"?)"));
  EXPECT_THAT(error("framse<1"), HasSubstr(R"(did you mean "frames"?)"));
  EXPECT_THAT(error("flows.web.lots<1"), HasSubstr(R"("flows.web.lost")"));
  EXPECT_THAT(error("entirely.elsewhere<1"), HasSubstr("--json shows all"));
  EXPECT_EQ(judged("framse!=1").front().exit(), ExitCode::usage);
}

TEST(Judgement, refuses_values_of_another_kind) {
  const auto error = [](const char* text) { return judged(text).front().reason; };
  EXPECT_THAT(error("frames<2ms"), HasSubstr("frames is a number: expected a number"));
  EXPECT_THAT(error("bytes<2ms"), HasSubstr("bytes is a size"));
  EXPECT_THAT(error("flows.web.latency_ns.p50<1Gb/s"), HasSubstr("is a time"));
  EXPECT_THAT(error("t_avg_usec<10%"), HasSubstr("is a time"));
  EXPECT_THAT(error("holds==1"), HasSubstr("holds is true or false"));
  EXPECT_THAT(error("frames==true"), HasSubstr("frames is a number"));
  EXPECT_THAT(error("clock==1"), HasSubstr("clock is not a figure: it is of type string"));
  EXPECT_THAT(error("flows!=1"), HasSubstr("of type array"));
  EXPECT_EQ(judged("bytes!=2ms").front().exit(), ExitCode::usage);
}

Judgement statement(std::string name, Holds holds, std::string asked_by = {},
                    std::string reason = {}) {
  return {.name = std::move(name),
          .asked = "at most 2",
          .asked_by = std::move(asked_by),
          .observed = "3 of 9",
          .holds = holds,
          .reason = std::move(reason),
          .measured = std::uint64_t{3}};
}

Verdict verdict_of(std::initializer_list<Judgement> all) {
  Verdict verdict;
  for (const Judgement& each : all) verdict.add(each);
  return verdict;
}

TEST(Verdict, is_text_with_what_to_look_at_first) {
  EXPECT_EQ(text_of(verdict_of({statement("a", Holds::yes), statement("b", Holds::yes)})),
            "holds: 2 statements\n");
  Judgement broken = statement("b", Holds::no);
  broken.remedy = "use a faster port";
  EXPECT_EQ(text_of(verdict_of({statement("a", Holds::yes), statement("c", Holds::yes, {}, "few"),
                                broken, statement("d", Holds::yes, "--expect")})),
            "does not hold: 3 of 9\n  use a faster port\nnote: 3 of 9: few\n"
            "holds: 3 of 9; asked: at most 2 (--expect)\n");
}

TEST(Verdict, of_many_statements_is_cut_and_counted) {
  Verdict verdict;
  for (int i = 0; i < 30; ++i) verdict.add(statement("a", Holds::no));
  for (int i = 0; i < 25; ++i) verdict.add(statement("b", Holds::yes, "--expect"));
  const std::string text = text_of(verdict);
  EXPECT_EQ(std::ranges::count(text, '\n'), 42);
  EXPECT_THAT(text, HasSubstr("and 10 further statements do not hold, or have a remark\n"));
  EXPECT_THAT(text, HasSubstr("and 5 further expectations hold\n"));
}

TEST(Verdict, ends_a_line_of_json) {
  std::string line = "{\"frames\":5}\n";
  add_verdict(line, verdict_of({statement("a", Holds::yes), statement("b", Holds::unknown)}));
  EXPECT_EQ(line.back(), '\n');
  const Json verdict = Json::parse(line)["verdict"];
  EXPECT_EQ(verdict["result"], "cannot tell");
  EXPECT_EQ(verdict["colour"], "amber");
  EXPECT_EQ(verdict["exit"], 0);
  EXPECT_EQ(verdict["statements"].size(), 2U);
  EXPECT_EQ(verdict["statements"][0]["measured"], 3);
}

TEST(Verdict, is_a_gauge_for_each_statement) {
  Prometheus out;
  Judgement of_port = statement("loss", Holds::no);
  of_port.of = "west";
  add_verdict(out, "longwire_impair_",
              verdict_of({statement("a", Holds::yes), statement("b", Holds::unknown), of_port}));
  const std::string text = out.text();
  const auto sample = [](const char* name, const char* of, int value) {
    return fmt::format(
        "longwire_impair_verdict{{statement=\"{}\",of=\"{}\",asked=\"at most 2\"}} {}", name, of,
        value);
  };
  EXPECT_THAT(text, HasSubstr(sample("a", "", 0)));
  EXPECT_THAT(text, HasSubstr(sample("b", "", 1)));
  EXPECT_THAT(text, HasSubstr(sample("loss", "west", 2)));
}

TEST(Junit, has_a_case_for_each_statement) {
  Judgement of_flow = statement("loss", Holds::no, "--expect");
  of_flow.of = "web";
  const NamedVerdict reports[] = {
      {"64 B", verdict_of({statement("a", Holds::yes), statement("b", Holds::unknown, {}, "none"),
                           statement("c", Holds::unknown, "x.toml:3:8", "none"), of_flow})}};
  EXPECT_EQ(junit_xml("roce-gen run", reports), R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="roce-gen run" tests="4" failures="1" errors="1" skipped="1">
  <testsuite name="64 B" tests="3" failures="0" errors="1" skipped="1" time="0">
    <testcase classname="64 B" name="a" time="0"><properties><property name="measured" value="3"/><property name="asked" value="at most 2"/></properties><system-out>holds: 3 of 9</system-out></testcase>
    <testcase classname="64 B" name="b" time="0"><properties><property name="measured" value="3"/><property name="asked" value="at most 2"/></properties><skipped message="cannot tell: 3 of 9: none"/></testcase>
    <testcase classname="64 B" name="c: at most 2" time="0"><properties><property name="measured" value="3"/><property name="asked" value="at most 2"/></properties><error type="statement" message="cannot tell: 3 of 9; asked: at most 2 (x.toml:3:8): none"/></testcase>
  </testsuite>
  <testsuite name="web" tests="1" failures="1" errors="0" skipped="0" time="0">
    <testcase classname="web" name="loss: at most 2" time="0"><properties><property name="measured" value="3"/><property name="asked" value="at most 2"/></properties><failure type="statement" message="does not hold: web: 3 of 9; asked: at most 2 (--expect)"/></testcase>
  </testsuite>
</testsuites>
)xml");
}

TEST(Junit, escapes_what_xml_reserves_or_cannot_hold) {
  Judgement hostile = statement("tab\tbad\xff", Holds::yes);
  hostile.of = "<&>\"";
  hostile.observed = "\x01";
  const NamedVerdict reports[] = {{"", verdict_of({hostile})}};
  const std::string xml = junit_xml("p", reports);
  EXPECT_THAT(xml, HasSubstr("classname=\"&lt;&amp;&gt;&quot;\""));
  EXPECT_THAT(xml, HasSubstr("name=\"tab\xef\xbf\xbd"
                             "bad\xef\xbf\xbd\""));
  EXPECT_THAT(xml, HasSubstr("holds: &lt;&amp;&gt;&quot;: \xef\xbf\xbd<"));
}

}  // namespace verdict_test
}  // namespace lw::report

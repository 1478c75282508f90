// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_page.h"

#include <gtest/gtest.h>

#include "report/plot_curves.h"

namespace lw::report {
namespace {

const Json kSent = Json::parse(R"({"schema": "longwire.send", "version": 1, "frames": 5,
  "not_sent": 1, "unsigned_frames": 0,
  "flows": [{"name": "a", "frames": 5, "not_sent": 1,
             "rate_asked": {"unit": "b/s on the wire", "value": 2e9},
             "rate_achieved": {"unit": "b/s on the wire", "value": 1.5e9}}],
  "received": {"flows": [{"name": "a", "sent": 5, "frames": 4, "duplicated": 1,
                          "lost": 2}]}})");

struct Sent {
  struct Flow {
    std::uint64_t not_sent = 0;

    static const FigureTable& figures() {
      using Row = FigureOf<Flow>;
      static constexpr Figure kRows[] = {Row::of<&Flow::not_sent>("not_sent", "Not taken.")};
      static constexpr FigureTable kTable{{}, kRows};
      return kTable;
    }
  };
  std::uint64_t frames = 0;
  std::vector<Flow> flows;

  static const FigureTable& figures() {
    using Row = FigureOf<Sent>;
    static constexpr Figure kRows[] = {Row::of<&Sent::frames>("frames", "Frames sent."),
                                       Row::of<&Sent::flows>("flows", "The flows.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};
constexpr JsonOutput kSentOutput{.name = "send", .title = "a test", .figures = &Sent::figures};

TEST(RunRows, FiguresHaveTheNamesOfExpectAndTheDescriptionsOfTheTable) {
  const Json figures = figure_rows(kSent, 100, &kSentOutput);
  const auto row = [&](const std::string& path) {
    for (const Json& each : figures["rows"])
      if (each["path"] == path) return each;
    return Json();
  };
  EXPECT_EQ(row("flows.a.rate_asked.value")["value"], 2e9);
  EXPECT_EQ(row("frames")["help"], "Frames sent.");
  EXPECT_EQ(row("flows.a.not_sent")["help"], "Not taken.");
  EXPECT_EQ(figures["of"], figures["rows"].size());
  const Json few = figure_rows(kSent, 3);
  EXPECT_EQ(few["rows"].size(), 3U);
  EXPECT_EQ(few["of"], figures["of"]);
}

/// The data in a page.
Json data_of(const std::string& page) {
  const std::size_t begin = page.find(R"({"schema":"longwire.run_page")");
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

Verdict verdict_of(Holds holds, const std::string& observed = "1 was not sent") {
  Verdict verdict;
  verdict.add({.name = "rate", .of = "a", .asked = "2 Gb/s", .observed = observed, .holds = holds});
  return verdict;
}

TEST(RunPage, ShowsTheRowsOfEachReport) {
  RunRows rows = {
      .name = "64 B",
      .requested = {{"a: rate", "2 Gb/s", "1 Gb/s"}, {"a: not sent", "0", "1", false}},
      .accounts = {{.identity = "x = y", .columns = {"Flow", "x"}, .rows = {{"a", 5}}}}};
  const Json data = data_of(html_text(
      RunPage{.command = "c",
              .command_line = "c",
              .reports = {{.json = kSent, .rows = rows, .verdict = verdict_of(Holds::yes)}}}));
  ASSERT_EQ(data["requested"].size(), 2U);
  EXPECT_EQ(data["requested"][0]["holds"], nullptr);
  EXPECT_EQ(data["requested"][1]["holds"], false);
  EXPECT_EQ(data["accounts"].dump(),
            R"([{"identity":"x = y","columns":["Flow","x"],"rows":[["a",5]]}])");
  EXPECT_EQ(data["figures"][0]["name"], "64 B");
  EXPECT_EQ(data["verdict"]["statements"][0]["report"], "64 B");
}

/// The verdict on a page of two reports.
Json verdict_on(Holds first, Holds second, ExitCode exit, std::vector<std::string> errors = {}) {
  const Json data =
      data_of(html_text(RunPage{.command = "c",
                                .command_line = "c",
                                .exit = exit,
                                .errors = std::move(errors),
                                .reports = {{.json = kSent, .verdict = verdict_of(first)},
                                            {.json = kSent, .verdict = verdict_of(second)}}}));
  return data["verdict"];
}

TEST(RunPage, ItsColourIsThatOfTheWorstStatement) {
  const Json good = verdict_on(Holds::yes, Holds::yes, ExitCode::done);
  EXPECT_EQ(good["colour"], "green");
  EXPECT_EQ(good["headline"], "holds: 2 statements");
  EXPECT_EQ(good["statements"].size(), 2U);
  const Json amber = verdict_on(Holds::yes, Holds::unknown, ExitCode::done);
  EXPECT_EQ(amber["colour"], "amber");
  EXPECT_EQ(amber["headline"], "cannot tell: a: 1 was not sent");
  const Json red = verdict_on(Holds::no, Holds::yes, ExitCode::failed);
  EXPECT_EQ(red["colour"], "red");
  EXPECT_EQ(red["headline"], "does not hold: a: 1 was not sent");
}

TEST(RunPage, AnExitCodeAboveZeroIsRed) {
  const Json page = verdict_on(Holds::yes, Holds::yes, ExitCode::environment, {"the port is gone"});
  EXPECT_EQ(page["colour"], "red");
  EXPECT_EQ(page["exit"], 3);
  EXPECT_EQ(page["headline"], "the port is gone");
  EXPECT_EQ(page["errors"].dump(), R"(["the port is gone"])");
}

TEST(RunPage, NamesCannotBreakOut) {
  const std::string hostile = "</script><script>alert(1)</script>";
  Json report = kSent;
  report["flows"][0]["name"] = hostile;
  const std::string page =
      html_text(RunPage{.command = hostile,
                        .command_line = hostile,
                        .errors = {hostile},
                        .reports = {{.json = report,
                                     .rows = {.requested = {{hostile, "", ""}}},
                                     .verdict = verdict_of(Holds::no, hostile)}},
                        .plots = {{.title = hostile,
                                   .x = {.label = hostile,
                                         .scale = PlotAxis::Scale::category,
                                         .categories = {hostile}},
                                   .y = {.label = hostile},
                                   .curves = {{.name = hostile, .points = {{0, 1, {}, {}}}}}}},
                        .profiles = {{hostile, hostile}},
                        .changes = {hostile},
                        .machine = {{hostile, hostile}},
                        .versions = {{"Program", hostile}}});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(PlotCurves, AHistogramHasAStepPerClass) {
  const Histogram::Bucket buckets[] = {{1000, 1000, 3}, {10'000, 10'000, 1}};
  const PlotCurve curve = histogram_curve("a", buckets, 1e3);
  double most = 0, area = 0;
  for (std::size_t i = 0; i + 1 < curve.points.size(); ++i) {
    most = std::max(most, curve.points[i].y);
    if (curve.points[i].x != curve.points[i + 1].x) area += curve.points[i].y;
  }
  EXPECT_DOUBLE_EQ(most, 75);
  EXPECT_DOUBLE_EQ(area, 100);
  EXPECT_DOUBLE_EQ(curve.points.front().x, 1);
  EXPECT_NEAR(curve.points.back().x, 11.2, 0.1);  // 10^(1/20) above 10
  EXPECT_TRUE(histogram_curve("none", {}, 1).points.empty());
}

}  // namespace
}  // namespace lw::report

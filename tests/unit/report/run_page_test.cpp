// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_page.h"

#include <gtest/gtest.h>

#include "report/judgement.h"
#include "report/plot_curves.h"

namespace lw::report {
namespace {

const Json kSent = Json::parse(R"({"schema": "longwire.send", "version": 1, "frames": 5,
  "not_sent": 1, "unsigned_frames": 0,
  "flows": [{"name": "a", "frames": 5, "not_sent": 1,
             "rate_asked": {"unit": "b/s on the wire", "value": 2e9},
             "rate_achieved": {"unit": "b/s on the wire", "value": 1.5e9}}],
  "received": {"flows": [{"name": "a", "sent": 5, "frames": 4, "duplicated": 1,
                          "never_came": 2}]}})");

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

TEST(RunRows, ChecksHaveTheMeaningsAndNamesOfATable) {
  struct Kept {
    bool first = true, second = false;
  };
  using Row = FigureOf<Kept>;
  static constexpr Figure kRows[] = {Row::of<&Kept::first>("first_holds", "The first."),
                                     Row::of<&Kept::second>("second_holds", "The second.")};
  static constexpr FigureTable kTable{{}, kRows};
  const Kept kept;
  const auto checks = check_rows(kTable, &kept);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].text, "The first. (first_holds)");
  EXPECT_EQ(checks[0].holds, true);
  EXPECT_EQ(checks[1].holds, false);
}

TEST(RunRows, AJudgementIsARowOfWhatWasRequested) {
  Judgement judgement = {.of = "a",
                         .figure = "loss",
                         .expected = "loss <= 1%",
                         .measured = std::uint64_t{1234567},
                         .holds = false};
  const RequestedRow row = row_of(judgement);
  EXPECT_EQ(row.what, "a: loss");
  EXPECT_EQ(row.requested, "loss <= 1%");
  EXPECT_EQ(row.measured, "1.23457e+06");
  EXPECT_EQ(row.holds, false);
  judgement.measured = true;
  EXPECT_EQ(row_of(judgement).measured, "true");
  judgement.measured = std::nullopt;
  EXPECT_EQ(row_of(judgement).measured, "none");
  judgement.error = "no such figure";
  EXPECT_EQ(row_of(judgement).measured, "no such figure");
}

/// The data in a page.
Json data_of(const std::string& page) {
  const std::size_t begin = page.find(R"({"schema":"longwire.run_page")");
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(RunPage, ShowsTheRowsOfEachReport) {
  RunRows rows = {.name = "64 B",
                  .requested = {{"a: rate", "2 Gb/s", "1 Gb/s"}, {"a: not sent", "0", "1", false}},
                  .checks = {{"All hold.", true}, {"Cannot be judged: b", {}}},
                  .accounts = {{.identity = "x = y", .columns = {"Flow", "x"}, .rows = {{"a", 5}}}},
                  .ended_early = "a signal"};
  const Json data = data_of(html_text(RunPage{
      .command = "c", .command_line = "c", .errors = {"e"}, .reports = {{kSent, nullptr, rows}}}));
  ASSERT_EQ(data["requested"].size(), 2U);
  EXPECT_EQ(data["requested"][0]["holds"], nullptr);
  EXPECT_EQ(data["requested"][1]["holds"], false);
  EXPECT_EQ(data["checks"].dump(),
            R"([{"text":"e","holds":false},{"text":"All hold.","holds":true},)"
            R"({"text":"Cannot be judged: b","holds":null},)"
            R"({"text":"a: not sent: requested 0, measured 1","holds":false},)"
            R"({"text":"Ended early: a signal","holds":false}])");
  EXPECT_EQ(data["accounts"].dump(),
            R"([{"identity":"x = y","columns":["Flow","x"],"rows":[["a",5]]}])");
  EXPECT_EQ(data["figures"][0]["name"], "64 B");
}

TEST(RunPage, NamesCannotBreakOut) {
  const std::string hostile = "</script><script>alert(1)</script>";
  Json report = kSent;
  report["flows"][0]["name"] = hostile;
  const std::string page =
      html_text(RunPage{.command = hostile,
                        .command_line = hostile,
                        .errors = {hostile},
                        .reports = {{report, nullptr, {.requested = {{hostile, "", ""}}}}},
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

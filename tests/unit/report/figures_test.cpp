// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/figure.h"
#include "core/setting.h"
#include "report/figures/json.h"
#include "report/figures/metrics.h"
#include "report/figures/read_json.h"
#include "report/figures/rows.h"
#include "report/figures/schema.h"

namespace lw::report {
namespace figures_test {

using testing::HasSubstr;
using testing::Not;

struct Part {
  std::uint64_t frames = 0, bytes = 0;

  static const FigureTable& figures() {
    using Row = FigureOf<Part>;
    static constexpr Figure kRows[] = {
        Row::of<&Part::frames>("frames", "Number of frames.", Unit::frames),
        Row::of<&Part::bytes>("bytes", "Their bytes.", Unit::bytes)};
    static constexpr FigureTable kTable{"Frames and their bytes.", kRows};
    return kTable;
  }
};

struct Ways {
  Part full, stopped;

  static const FigureTable& figures() {
    using Row = FigureOf<Ways>;
    static constexpr Figure kRows[] = {Row::of<&Ways::full>("full", "No room was left."),
                                       Row::of<&Ways::stopped>("stopped", "The run ended.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

enum class Kind : std::uint8_t { first, second };
constexpr std::string_view name_of(Kind kind) { return kind == Kind::first ? "first" : "second"; }

/// A member of each type that a table may hold.
struct Whole : Part {
  bool holds = true;
  std::int64_t least = -5;
  std::chrono::nanoseconds longest{7};
  double rate = 0.5;
  std::string name = "a";
  Kind kind = Kind::second;
  std::optional<std::uint64_t> absent = {}, missing = {};
  std::optional<Part> part = {};
  Ways lost;
  std::vector<Part> parts = {{1, 100}, {2, 200}};
  std::vector<std::array<std::int64_t, 2>> buckets = {{1, 2}};
  std::vector<std::pair<std::string, std::uint64_t>> by_rule = {{"x", 3}, {"y", 4}};
  std::uint64_t rare = 0;
  JsonText record{R"({"number": 1})"};
  std::optional<FigureValue> figure = true;
  [[nodiscard]] std::optional<double> share() const {
    if (frames == 0) return std::nullopt;
    return static_cast<double>(rare) / static_cast<double>(frames);
  }

  static const FigureTable& figures() {
    using Row = FigureOf<Whole>;
    static constexpr std::string_view kNames[] = {"a", "b"};
    static constexpr Figure kRows[] = {
        Row::rows_of<[](const Whole& whole) -> const Part& { return whole; }>(),
        Row::of<&Whole::holds>("holds", "True if all adds up."),
        Row::of<&Whole::least>("least_ns", "Least; negative if early.", Unit::ns),
        Row::of<&Whole::longest>("longest_ns", "Longest time.", Unit::ns),
        Row::of<&Whole::rate>("rate_bps", "Rate.", Unit::bits_per_second).as_gauge(),
        Row::of<&Whole::name>("name", "Name.").among(kNames),
        Row::of<&Whole::kind>("kind", "Kind."),
        Row::of<&Whole::absent>("absent", "Left out."),
        Row::of<&Whole::missing>("missing", "Null.").or_null(),
        Row::of<&Whole::part>("part", "A part."),
        Row::of<&Whole::lost>("lost", "Frames that were lost.").by("reason"),
        Row::of<&Whole::parts>("parts", "All parts."),
        Row::of<&Whole::buckets>("buckets", "From, to."),
        Row::of<&Whole::by_rule>("by_rule", "Frames by rule.", Unit::frames).by("rule"),
        Row::of<&Whole::rare>("rare", "Seldom.").if_any(),
        Row::of<&Whole::share>("share", "Share.").or_null(),
        Row::of<&Whole::record>("record", "A record."),
        Row::of<&Whole::figure>("figure", "A figure.").or_null(),
        Row::of<[](const Whole& whole) { return whole.bytes + 1; }>("bytes", "More bytes.",
                                                                    Unit::bytes)};
    static constexpr FigureTable kTable{"All.", kRows};
    return kTable;
  }
};

constexpr JsonOutput kOutput{
    .name = "whole", .title = "a test", .figures = &Whole::figures, .judged = true, .version = 3};

TEST(Figures, JsonHasEachFigureInTheOrderOfTheTable) {
  EXPECT_EQ(json_line(kOutput, Whole{}),
            R"({"schema":"longwire.whole","version":3,"frames":0,"bytes":1,"holds":true,)"
            R"("least_ns":-5,"longest_ns":7,"rate_bps":0.5,"name":"a","kind":"second",)"
            R"("missing":null,"lost":{"full":{"frames":0,"bytes":0},)"
            R"("stopped":{"frames":0,"bytes":0}},)"
            R"("parts":[{"frames":1,"bytes":100},{"frames":2,"bytes":200}],"buckets":[[1,2]],)"
            R"("by_rule":{"x":3,"y":4},"share":null,"record":{"number":1},"figure":true})"
            "\n");
}

TEST(Figures, JsonHasWhatIsThereOnlySometimes) {
  Whole whole;
  whole.frames = 4;
  whole.rare = 1;
  whole.absent = 0;
  whole.part = Part{5, 6};
  whole.figure = std::nullopt;
  const Json json = json_of(whole);
  EXPECT_EQ(json["absent"], 0);
  EXPECT_EQ(json["part"]["bytes"], 6);
  EXPECT_EQ(json["rare"], 1);
  EXPECT_EQ(json["share"], 0.25);
  EXPECT_EQ(json["figure"], nullptr);
}

TEST(Figures, TheSchemaAllowsThatAndNothingElse) {
  const Json schema = schema_of(kOutput);
  EXPECT_EQ(schema["$id"], "https://longwire.invalid/schemas/whole.json");
  EXPECT_EQ(schema["properties"]["version"]["const"], 3);
  EXPECT_EQ(schema["additionalProperties"], false);
  const auto key = [&](const char* name) { return schema["properties"][name]; };
  EXPECT_EQ(key("frames").dump(),
            R"({"description":"Number of frames.","unit":"frames","type":"integer","minimum":0})");
  EXPECT_EQ(key("bytes")["description"], "More bytes.");
  EXPECT_EQ(key("least_ns").dump(),
            R"({"description":"Least, in ns; negative if early.","unit":"ns","type":"integer"})");
  EXPECT_EQ(key("rate_bps")["description"], "Rate, in bits per second.");
  EXPECT_EQ(key("name").dump(), R"({"description":"Name.","type":"string","enum":["a","b"]})");
  EXPECT_EQ(key("missing")["type"].dump(), R"(["integer","null"])");
  EXPECT_EQ(key("figure")["type"].dump(), R"(["number","boolean","null"])");
  EXPECT_EQ(key("record")["type"], "object");
  EXPECT_EQ(key("part")["required"].dump(), R"(["frames","bytes"])");
  EXPECT_EQ(key("parts")["items"]["description"], "Frames and their bytes.");
  EXPECT_EQ(key("buckets")["items"]["maxItems"], 2);
  EXPECT_EQ(key("by_rule")["additionalProperties"]["type"], "integer");
  EXPECT_EQ(
      key("verdict")["properties"]["statements"]["items"]["properties"]["measured"]["type"].size(),
      3U);
  const auto required = schema["required"];
  const auto is_required = [&](const char* name) {
    return std::ranges::find(required, Json(name)) != required.end();
  };
  for (const char* name : {"schema", "version", "frames", "missing", "share", "parts"})
    EXPECT_TRUE(is_required(name)) << name;
  for (const char* name : {"absent", "part", "rare", "expectations"})
    EXPECT_FALSE(is_required(name)) << name;
}

/// Rows of each shape, which no other row replaces.
struct Line {
  std::string text = "plain";
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::string> name = {};
  std::optional<double> rate = {};
  std::optional<std::uint64_t> absent = {};
  bool holds = false;
  Part part{1, 2};
  std::vector<std::string> list = {"a", "b"};

  static const FigureTable& figures() {
    using Row = FigureOf<Line>;
    static constexpr Figure kRows[] = {Row::of<&Line::text>("text", "Text."),
                                       Row::of<&Line::least>("least", "Least."),
                                       Row::of<&Line::most>("most", "Most."),
                                       Row::of<&Line::name>("name", "Name.").or_null(),
                                       Row::of<&Line::rate>("rate", "Rate.").or_null(),
                                       Row::of<&Line::holds>("holds", "Holds."),
                                       Row::of<&Line::part>("part", "Part."),
                                       Row::of<&Line::list>("list", "List."),
                                       Row::of<&Line::absent>("absent", "Left out.")};
    static constexpr FigureTable kTable{"Line.", kRows};
    return kTable;
  }
};
constexpr JsonOutput kLine{.name = "line", .title = "", .figures = &Line::figures, .version = 2};

/// What FigureRows writes for a line and another after it.
std::string both_lines(RowStyle style, const Line& line) {
  FigureRows rows(style, kLine);
  std::string text;
  rows.append(text, line);
  rows.append(text, Line{});
  return text;
}

TEST(Figures, RowsAreThoseOfJsonObjects) {
  Line all{.text = "quote\" comma, line\n \xc3\xa9 \xff",
           .name = "",
           .rate = 1e300,
           .absent = 7,
           .list = {"\xff"}};
  for (const Line& line : {Line{}, all, Line{.rate = 0.1}, Line{.rate = -0.0}}) {
    EXPECT_EQ(both_lines(RowStyle::json, line), json_line(kLine, line) + json_line(kLine, Line{}));
    if (line.absent) continue;  // RowFormat leaves out its column
    RowFormat format(RowStyle::csv, kLine);
    std::string expected = format.line(json_of(line));
    expected.replace(expected.find("list"), 4, "list,absent");
    expected.insert(expected.size() - 1, ",");
    std::string second = format.line(json_of(Line{}));
    second.insert(second.size() - 1, ",");
    EXPECT_EQ(both_lines(RowStyle::csv, line), expected + second);
  }
}

/// A figure that had another name in the release before.
struct Renamed {
  std::uint64_t connection = 3;
  std::optional<std::uint64_t> qp = {};

  static const FigureTable& figures() {
    using Row = FigureOf<Renamed>;
    static constexpr Figure kRows[] = {
        Row::of<&Renamed::connection>("connection", "Number.").renamed_from("session"),
        Row::of<&Renamed::qp>("qp", "QP number.").or_null().renamed_from("queue")};
    static constexpr FigureTable kTable{"Renamed.", kRows};
    return kTable;
  }
};

TEST(Figures, ARenamedOneHasBothNames) {
  constexpr JsonOutput kRenamed{.name = "renamed", .title = "", .figures = &Renamed::figures};
  EXPECT_EQ(json_of(Renamed{}).dump(), R"({"connection":3,"session":3,"qp":null,"queue":null})");
  const Json schema = schema_of(kRenamed);
  EXPECT_EQ(schema["properties"]["session"].dump(),
            R"({"description":"The value of connection under its name of release 0.1; )"
            R"(the next release lacks it.","type":"integer","minimum":0,"deprecated":true})");
  EXPECT_EQ(schema["required"].dump(), R"(["schema","version","connection","qp"])");
}

constexpr std::string_view kKinds[] = {"first", "second"};
constexpr std::array<std::pair<std::string_view, int>, 2> kSpeeds = {{{"slow", 10}, {"fast", 40}}};

std::string text_of_hex(std::uint16_t number) { return fmt::format("{:#x}", number); }
Parsed<std::uint16_t> read_hex(std::string_view text) {
  const auto number = read_whole(text, 0, 0xffff);
  if (!number) return std::unexpected(number.error());
  return static_cast<std::uint16_t>(*number);
}

/// A member of each type that JSON sets.
struct Settings {
  bool checked = false;
  std::uint8_t timeout = 18;
  std::int32_t least = 0;
  std::chrono::nanoseconds longest{};
  double rate = 0;
  std::string name;
  Kind kind = Kind::first;
  int speed = 10;
  std::uint16_t port = 0;
  std::optional<std::uint64_t> count = {}, most = {};
  Part part;
  std::vector<Part> parts;
  std::vector<std::array<std::int64_t, 2>> buckets;
  std::vector<std::pair<std::string, std::uint64_t>> by_rule;
  std::uint64_t rare = 0;

  static const FigureTable& figures() {
    using Row = FigureOf<Settings>;
    static constexpr Figure kRows[] = {
        Row::of<&Settings::checked>("checked", "Checked."),
        Row::of<&Settings::timeout>("timeout", "Timeout.").from(0, 31),
        Row::of<&Settings::least>("least", "Least."),
        Row::of<&Settings::longest>("longest_ns", "Longest.", Unit::ns),
        Row::of<&Settings::rate>("rate", "Rate.").from(0, 1e9),
        Row::of<&Settings::name>("name", "Name."),
        Row::of<&Settings::kind>("kind", "Kind.").set_to(kKinds),
        Row::word<&Settings::speed, kSpeeds>("speed", "Speed."),
        Row::text<&Settings::port, text_of_hex, read_hex>("port", "Port."),
        Row::of<&Settings::count>("count", "Number of all."),
        Row::of<&Settings::most>("most", "Most.").or_null(),
        Row::rows_of<&Settings::part>(),
        Row::of<&Settings::parts>("parts", "Parts.").from(1, 3),
        Row::of<&Settings::buckets>("buckets", "From, to."),
        Row::of<&Settings::by_rule>("by_rule", "By rule."),
        Row::of<&Settings::rare>("rare", "Seldom.").if_any(),
        Row::of<[](const Settings& setup) { return setup.parts.size(); }>("number", "Of parts.")};
    static constexpr FigureTable kTable{"Settings.", kRows};
    return kTable;
  }
};

Settings example_settings() {
  Settings setup{.checked = true,
                 .timeout = 31,
                 .least = -5,
                 .longest = std::chrono::nanoseconds(7),
                 .rate = 0.5,
                 .name = "\"x\"",
                 .kind = Kind::second,
                 .speed = 40,
                 .port = 0x12b7,
                 .count = 0,
                 .part = {8, 9},
                 .parts = {{1, 100}, {2, ~std::uint64_t{0}}},
                 .buckets = {{-1, 2}, {3, 4}},
                 .by_rule = {{"x", 3}, {"y", 4}}};
  return setup;
}

TEST(ReadJson, ReadsWhatJsonOfWrote) {
  const Json json = json_of(example_settings());
  Settings read;
  ASSERT_EQ(read_json(json, read), Parsed<void>());
  EXPECT_EQ(json_of(read), json);
  EXPECT_EQ(read.port, 0x12b7);
  EXPECT_EQ(read.speed, 40);
}

TEST(ReadJson, NamesTheRowAndWhatItExpects) {
  const Json good = json_of(example_settings());
  struct Case {
    const char* key;
    Json value;
    const char* reason;
  };
  for (const Case& wrong : {
           Case{"checked", 1, "\"checked\": expected true or false, found 1"},
           Case{"timeout", 32, "\"timeout\": expected a whole number from 0 to 31, found 32"},
           Case{"timeout", -1, "found -1"},
           Case{"timeout", 1.5, "found 1.5"},
           Case{"least", 1e300, "\"least\": expected a whole number"},
           Case{"least", std::int64_t{1} << 40, "\"least\": expected a whole number"},
           Case{"longest_ns", ~std::uint64_t{0}, "expected a whole number"},
           Case{"rate", 2e9, "\"rate\": expected a number from 0 to 1000000000"},
           Case{"name", nullptr, "\"name\": expected a string, found null"},
           Case{"kind", "third", "\"kind\": expected one of first, second, found \"third\""},
           Case{"speed", 40, "\"speed\": expected a string, found 40"},
           Case{"port", "0x10000", "\"port\": expected a whole number from 0 to 65535"},
           Case{"frames", -1, "\"frames\": expected a whole number"},
           Case{"parts", Json::array(), "\"parts\": expected a list of 1 to 3, found 0"},
           Case{"parts", 7, "\"parts\": expected a list of 1 to 3, found 7"},
           Case{"parts", {{{"frames", 1}}}, "parts: expected a field \"bytes\""},
           Case{"buckets", {{1, 2, 3}}, "\"buckets\": expected a list of 2, found 3"},
           Case{"by_rule", {{"a\nb", 1}}, "\"by_rule\": expected plain names"},
       }) {
    Json json = good;
    json[wrong.key] = wrong.value;
    Settings setup;
    const auto read = read_json(json, setup);
    ASSERT_FALSE(read) << wrong.key << json;
    EXPECT_THAT(read.error(), HasSubstr(wrong.reason));
  }
}

TEST(ReadJson, LacksOnlyWhatAnOutputMayLeaveOut) {
  const Json good = json_of(example_settings());
  for (const auto& [key, value] : good.items()) {
    Json json = good;
    json.erase(key);
    Settings setup;
    const bool may_lack = key == "count" || key == "rare" || key == "number";
    EXPECT_EQ(read_json(json, setup).has_value(), may_lack) << key;
  }
}

TEST(Figures, MetricsHaveUnitsAndLabels) {
  Whole whole;
  whole.frames = 4;
  whole.lost.stopped.frames = 2;
  const LabelledObject objects[] = {{{{"port", "west"}}, &whole}};
  Prometheus out;
  add_metrics(out, "box_", Whole::figures(), objects);
  for (const char* text :
       {"# HELP box_frames_total Number of frames.\n# TYPE box_frames_total counter\n",
        "box_frames_total{port=\"west\"} 4\n", "box_longest_seconds_total{port=\"west\"} 7e-09\n",
        "# TYPE box_rate_bits_per_second gauge\n", "# TYPE box_absent_total counter\n",
        "# HELP box_lost_bytes_total Frames that were lost: their bytes.\n",
        "box_lost_frames_total{port=\"west\",reason=\"stopped\"} 2\n",
        "box_by_rule_frames_total{port=\"west\",rule=\"y\"} 4\n"})
    EXPECT_THAT(out.text(), HasSubstr(text));
  for (const char* text : {"holds", "name", "parts", "buckets", "box_absent_total{"})
    EXPECT_THAT(out.text(), Not(HasSubstr(text)));
}

}  // namespace figures_test
}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/control.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impair/control/live_profile.h"
#include "impair/limits.h"
#include "nic/clock.h"
#include "support/temporary.h"
#include "unit/impair/sound_report.h"

namespace lw::impair {
namespace control_test {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

constexpr std::string_view kProfile =
    "seed = 9\n[[rule]]\nname = \"long haul\"\ndelay = \"2ms\"\nloss = \"1%\"\n";

/// A control whose run takes every configuration, or none.
class ControlTest : public testing::Test {
 protected:
  Json ask(const Json& request) { return Json::parse(*control_.answer(request.dump())); }
  Json set(const std::string& rule, const Json& keys) {
    return ask({{"do", "set"}, {"rule", rule}, {"keys", keys}});
  }

  Result<void> change(Result<LiveProfile::Version> next) {
    if (!next) return std::unexpected(next.error());
    if (!running_) return fail("the run has ended", ExitCode::failed);
    applied_.push_back(next->profile);
    live_.keep(std::move(*next));
    return {};
  }

  bool running_ = true;
  Instant begin_{};
  std::vector<config::ImpairProfile> applied_;
  std::vector<config::ControlCommand> commands_;
  std::pair<std::string, RecordingShape> recorded_;
  LiveProfile::Point before_;
  LiveProfile live_{LiveProfile::parse(kProfile, {"p.toml"}).value()};
  Control control_{
      {.set = [this](auto edits, const auto& /*by*/) { return change(live_.with(edits)); },
       .load =
           [this](const auto& file, const auto& /*by*/, Instant begin) {
             begin_ = begin;
             return change(live_.loaded(file));
           },
       .reset = [this](const auto& /*by*/) { return change(live_.unedited()); },
       .undo = [this](const auto& /*by*/) { return change(live_.back_to(before_)); },
       .command = [this](const config::ControlCommand& command, const auto& /*by*/,
                         Instant begin) -> Result<void> {
         begin_ = begin;

         if (auto steps = live_.on_command(command); !steps) return std::unexpected(steps.error());
         commands_.push_back(command);
         return {};
       },
       .preview = [this](auto edits) -> Result<config::ImpairProfile> {
         auto next = live_.with(edits);
         if (!next) return std::unexpected(next.error());
         return next->profile;
       },
       .profile = [this] { return live_.now().profile; },
       .snapshot = [] { return sound_report(); },
       .records = []() -> Result<std::vector<std::string>> {
         return std::vector<std::string>{R"({"frame":1})", R"({"frame":2})"};
       },
       .record = [this](const std::string& file, const RecordingShape& shape) -> Result<void> {
         recorded_ = {file, shape};
         return {};
       },
       .stop_recording = []() -> Result<CaptureReport> {
         return CaptureReport{.file = "one.pcapng", .frames = 7, .skipped = 2};
       }}};
};

TEST_F(ControlTest, ACommandIsByNameOrSaysAllItself) {
  EXPECT_THAT(ask({{"do", "event"}, {"name", "detour"}})["error"], HasSubstr("\"detour\""));
  EXPECT_EQ(ask({{"do", "event"}, {"flap", {{"port", "west"}, {"down", "1s"}}}})["ok"], true);
  EXPECT_THAT(ask({{"do", "event"}, {"flap", {{"port", "up"}, {"down", "1s"}}}})["error"],
              HasSubstr("p.toml: port: expected"));
  EXPECT_EQ(ask({{"do", "event"}, {"event", {{"on", "ack"}, {"action", "drop"}}}})["ok"], true);
  EXPECT_THAT(ask({{"do", "event"}, {"event", {{"on", "ack"}, {"acton", "drop"}}}})["error"],
              HasSubstr("did you mean"));
  EXPECT_EQ(
      ask({{"do", "event"}, {"at", {{"rule", "long haul"}, {"set", {{"loss", "100%"}}}}}})["ok"],
      true);
  EXPECT_EQ(commands_.size(), 3U);
}

TEST_F(ControlTest, AnEventBeginsWhenItIsToldTo) {
  Json request = {{"do", "event"}, {"flap", {{"port", "west"}, {"down", "1s"}}}};
  EXPECT_EQ(ask(request)["ok"], true);
  EXPECT_EQ(begin_, Instant{});  // at once
  const Instant soon = nic::now() + std::chrono::hours(1);
  request["begin_ns"] = to_ns(soon);
  EXPECT_EQ(ask(request)["ok"], true);
  EXPECT_EQ(begin_, soon);
  const std::int64_t late = to_ns(nic::now() + kLongestAhead + std::chrono::hours(1));
  for (const Json& wrong : {Json(late), Json(-1), Json("soon"), Json(UINT64_MAX), Json(1.5)}) {
    request["begin_ns"] = wrong;
    EXPECT_THAT(ask(request)["error"], HasSubstr("begin_ns: expected a time of CLOCK_MONOTONIC"));
  }
  EXPECT_EQ(begin_, soon);
}

TEST_F(ControlTest, ShowsTheReportAndTheRules) {
  const Json answer = ask({{"do", "show"}});
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["report"]["directions"][0]["received"]["frames"], 10);
  EXPECT_EQ(answer["rules"][0]["delay_ns"], 2'000'000);
  const auto text = answer["text"].get<std::string>();
  EXPECT_THAT(text, HasSubstr("rule long haul: rocev2, both ways\n  loss "));
  EXPECT_THAT(text, HasSubstr(" 1 %\n  delay "));
  EXPECT_THAT(text, HasSubstr(" 2 ms\n"));
  EXPECT_THAT(text, HasSubstr("west-to-east"));
}

TEST_F(ControlTest, AChangeIsShownAtOnce) {
  ask({{"do", "show"}});
  const Json changed = set("long haul", {{"delay", "1ms"}});
  EXPECT_THAT(changed["text"].get<std::string>(), HasSubstr(" 1 ms\n"));
  EXPECT_EQ(ask({{"do", "show"}})["rules"][0]["delay_ns"], 1'000'000);
}

TEST_F(ControlTest, SetChangesWhatItNamesAndEditsAddUp) {
  EXPECT_EQ(set("long haul", {{"loss", "5%"}})["ok"], true);
  EXPECT_EQ(set("long haul", {{"delay", "1ms"}})["ok"], true);
  ASSERT_EQ(applied_.size(), 2U);
  EXPECT_EQ(applied_[1].rules[0].loss, emulator::LossConfig{0.05});
  EXPECT_EQ(applied_[1].rules[0].delay, std::chrono::milliseconds(1));
  EXPECT_EQ(applied_[1].seed, 9U);
  EXPECT_EQ(ask({{"do", "reset"}})["rules"][0]["delay_ns"], 2'000'000);
  EXPECT_EQ(applied_[2].rules[0].loss, emulator::LossConfig{0.01});
}

TEST_F(ControlTest, APreviewChangesNothing) {
  const Json answer = ask({{"do", "preview"}, {"rule", "long haul"}, {"keys", {{"loss", "5%"}}}});
  EXPECT_EQ(answer["rules"][0]["loss"], 0.05);
  EXPECT_THAT(answer["text"], HasSubstr("in flight each way: 100.0 Gb/s x 2 ms"));
  EXPECT_TRUE(applied_.empty());
}

TEST_F(ControlTest, UndoBringsBackWhatWasInForce) {
  set("long haul", {{"delay", "1ms"}});
  before_ = live_.point();
  set("long haul", {{"delay", "500us"}});
  EXPECT_EQ(ask({{"do", "undo"}})["rules"][0]["delay_ns"], 1'000'000);
}

TEST_F(ControlTest, AReaderOnlyLooks) {
  const auto read = [this](const Json& request) {
    return Json::parse(*control_.answer(request.dump(), Control::Access::read));
  };
  EXPECT_EQ(read({{"do", "show"}})["ok"], true);
  EXPECT_THAT(read({{"do", "undo"}})["error"], HasSubstr("only shows"));
  EXPECT_TRUE(applied_.empty());
}

TEST_F(ControlTest, WhatIsWrongChangesNothing) {
  EXPECT_THAT(set("long hall", {{"loss", "5%"}})["error"], HasSubstr("long hall"));
  EXPECT_THAT(set("long haul", {{"loss", "500%"}})["error"], HasSubstr("loss"));
  EXPECT_THAT(set("long haul", {{"lost", "5%"}})["error"], HasSubstr("did you mean"));
  EXPECT_EQ(set("long haul", {{"loss", "5%"}, {"dely", "1ms"}})["ok"], false);
  EXPECT_TRUE(applied_.empty());
  EXPECT_EQ(ask({{"do", "show"}})["rules"][0]["loss"], 0.01);
}

TEST_F(ControlTest, MoreThanThereIsRoomForIsRefusedWithTheArithmetic) {
  const Json answer = set("long haul", {{"delay", "2s"}});
  EXPECT_EQ(answer["ok"], false);
  EXPECT_THAT(answer["error"], HasSubstr("100.0 Gb/s x 2 s"));
}

TEST_F(ControlTest, AReserveIsThereForLongerDelays) {
  const auto start = [this](const std::string& text) {
    live_ = LiveProfile(LiveProfile::parse(text, {"p.toml"}).value());
  };
  start("[[rule]]\ndelay = \"2ms\"\n");
  EXPECT_THAT(set("rule0", {{"delay", "7ms"}})["error"], HasSubstr("reserve = \"5 ms\""));
  start("[capacity]\nreserve = \"5ms\"\n[[rule]]\ndelay = \"2ms\"\n");
  EXPECT_EQ(set("rule0", {{"delay", "7ms"}})["ok"], true);
  EXPECT_EQ(set("rule0", {{"delay", "8ms"}})["ok"], false);
  EXPECT_EQ(set("rule0", {{"delay", "7ms"}, {"loss", "1%"}})["ok"], true);
}

TEST_F(ControlTest, RecordsAreThoseOfTheLedger) {
  const Json answer = ask({{"do", "records"}});
  EXPECT_EQ(answer["records"], (Json::array({{{"frame", 1}}, {{"frame", 2}}})));
  EXPECT_EQ(answer["text"], "{\"frame\":1}\n{\"frame\":2}\n");
}

TEST_F(ControlTest, ARecordingHasANewFileAndABound) {
  EXPECT_EQ(ask({{"do", "record"}, {"file", "/nowhere/one.pcapng"}, {"bytes", 128}})["ok"], true);
  EXPECT_EQ(recorded_.first, "/nowhere/one.pcapng");
  EXPECT_EQ(recorded_.second.most_bytes, 128U);
  EXPECT_EQ(ask({{"do", "record"}, {"file", "one.pcapng"}})["ok"], true);
  EXPECT_EQ(recorded_.second.most_bytes, 0U) << "all of each frame";
  EXPECT_EQ(recorded_.second.rotation.size, 0U) << "one file";
  EXPECT_THAT(ask({{"do", "record"}, {"file", "/dev/null"}})["error"], HasSubstr("exists"));
  for (const Json& bytes : {Json(0), Json(-1), Json("128"), Json(1ULL << 32)})
    EXPECT_THAT(ask({{"do", "record"}, {"file", "x.pcapng"}, {"bytes", bytes}})["error"],
                HasSubstr("\"bytes\""));
  const Json ended = ask({{"do", "stop-recording"}});
  EXPECT_EQ(ended["capture"]["frames"], 7);
  EXPECT_EQ(ended["capture"]["missing"], 2);
}

TEST_F(ControlTest, ARecordingMayHaveSeveralFiles) {
  const auto folder = std::filesystem::path(lw::test::temporary_folder());
  const auto first = folder / "control_test-00001.pcapng";
  const auto record = [&](const Json& more) {
    Json request = {{"do", "record"}, {"file", (folder / "control_test.pcapng").string()}};
    request.update(more);
    return ask(request);
  };
  EXPECT_EQ(record({{"rotate", 64'000}, {"ring", 3}})["ok"], true);
  EXPECT_EQ(recorded_.second.rotation.size, 64'000U);
  EXPECT_EQ(recorded_.second.rotation.files, 3U);
  for (const Json& size : {Json(63'999), Json("1GB"), Json((1ULL << 50) + 1)})
    EXPECT_THAT(record({{"rotate", size}})["error"], HasSubstr("\"rotate\" of 64000 to"));
  EXPECT_THAT(record({{"rotate", 64'000}, {"ring", 0}})["error"], HasSubstr("\"ring\" of 1 to"));
  EXPECT_THAT(record({{"ring", 3}})["error"], HasSubstr("needs \"rotate\""));
  const auto later = folder / "control_test-100007.pcapng",
             other = folder / "control_test-7.pcapng";
  std::ofstream(other).put('x');
  EXPECT_EQ(record({{"rotate", 64'000}})["ok"], true) << "no file of a recording has this name";
  std::filesystem::remove(other);
  for (const auto& there : {first, later}) {
    std::filesystem::create_symlink("/nowhere/x.pcapng", there);
    EXPECT_THAT(record({{"rotate", 64'000}})["error"], HasSubstr(there.string() + " exists"));
    std::filesystem::remove(there);
  }
}

TEST_F(ControlTest, APageRecordsIntoTheRunsFolderOnly) {
  const auto from_page = [this](const std::string& file) {
    const Json request = {{"do", "record"}, {"file", file}};
    return Json::parse(*control_.answer(request.dump(), Control::Access::change));
  };
  EXPECT_THAT(from_page("/nowhere/one.pcapng")["error"], HasSubstr("without /"));
  EXPECT_EQ(recorded_.first, "");
  EXPECT_EQ(from_page("one.pcapng")["ok"], true);
}

TEST_F(ControlTest, AnEndedRunSaysSoAndKeepsNothing) {
  running_ = false;
  EXPECT_THAT(set("long haul", {{"loss", "5%"}})["error"], HasSubstr("ended"));
  EXPECT_EQ(ask({{"do", "show"}})["rules"][0]["loss"], 0.01);
}

TEST_F(ControlTest, AnotherProfileIsLoadedByItsFile) {
  char path[] = "/tmp/longwire-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "seed = 1\n[[rule]]\nname = \"other\"\nloss = \"100%\"\n";
  EXPECT_EQ(ask({{"do", "load"}, {"file", path}})["rules"][0]["name"], "other");
  EXPECT_EQ(set("other", {{"loss", "0"}})["ok"], true);
  EXPECT_EQ(applied_.back().seed, 9U) << "draws go on";
  std::remove(path);
  EXPECT_THAT(ask({{"do", "load"}, {"file", path}})["error"], HasSubstr(path));
}

TEST_F(ControlTest, NonsenseIsAnsweredInOneLine) {
  for (const std::string request :
       {"", "{", "7", "[]", "{}", R"({"do":1})", R"({"do":"jump"})", R"({"do":"set"})",
        R"({"do":"set","rule":1,"keys":{}})", R"({"do":"load"})", R"({"do":"event"})",
        R"({"do":"event","flap":7})", R"({"do":"event","name":7})", R"({"do":"event","at":{}})",
        R"({"do":"event","event":{"a":null}})", R"({"do":"record"})", R"({"do":"record","file":7})",
        R"({"do":"set","rule":"long haul","keys":{"":1}})", "{\"do\":\"\xff\"}"}) {
    const std::string answer = *control_.answer(request);
    EXPECT_EQ(Json::parse(answer)["ok"], false) << request;
    EXPECT_EQ(answer.find('\n'), answer.size() - 1);
  }
}

TEST_F(ControlTest, ARemoteClientNamesNoFile) {
  const auto error = [this](const Json& request, Control::Access access) {
    const Json answer = Json::parse(*control_.answer(request.dump(), access));
    return answer["ok"].get<bool>() ? "" : answer["error"].get<std::string>();
  };
  const Json keys = {{"trace.file", "/etc/hostname"}};
  const Json preview = {{"do", "preview"}, {"rule", "long haul"}, {"keys", keys}};
  EXPECT_THAT(error(preview, Control::Access::read), HasSubstr("--web-files DIR"));
  Json set = preview;
  set["do"] = "set";
  EXPECT_THAT(error(set, Control::Access::change), HasSubstr("--web-files DIR"));
  EXPECT_THAT(error({{"do", "load"}, {"file", "/etc/hostname"}}, Control::Access::change),
              HasSubstr("--web-files DIR"));
  const Json act = {{"rule", "long haul"}, {"set", keys}};
  EXPECT_THAT(error({{"do", "event"}, {"at", act}}, Control::Access::change),
              HasSubstr("--web-files DIR"));
  EXPECT_THAT(error(preview, Control::Access::full), HasSubstr("/etc/hostname: expected"))
      << "local";
  EXPECT_TRUE(applied_.empty());
}

TEST_F(ControlTest, AVersionSharesTheActsOfItsProfile) {
  live_ = LiveProfile(LiveProfile::parse(std::string(kProfile) +
                                             "[[at]]\ntime = \"1s\"\nrule = \"long haul\"\n"
                                             "over = \"10s\"\nset = { loss = \"2%\" }\n",
                                         {"p.toml"})
                          .value());
  const auto acts = live_.now().profile.acts;
  ASSERT_EQ(acts->size(), 1U);
  EXPECT_EQ(set("long haul", {{"loss", "5%"}})["ok"], true);
  EXPECT_EQ(live_.now().profile.acts, acts);
  EXPECT_TRUE(live_.now().profile.scenario.empty());
}

TEST_F(ControlTest, ARecordingIsANewFile) {
  const auto link =
      std::filesystem::path(lw::test::temporary_folder()) / "control_test_link.pcapng";
  std::filesystem::remove(link);
  std::filesystem::create_symlink("/nowhere/x.pcapng", link);
  EXPECT_THAT(ask({{"do", "record"}, {"file", link.string()}})["error"], HasSubstr("exists"));
  std::filesystem::remove(link);
  EXPECT_TRUE(recorded_.first.empty());
}

}  // namespace control_test
}  // namespace lw::impair

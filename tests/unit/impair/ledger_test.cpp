// SPDX-License-Identifier: BSD-3-Clause
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impair/record/ledger_file.h"

namespace lw::impair {
namespace ledger_test {

const RuleNames kRules = {std::vector<std::string>{"first", "a \"quoted\" name\n"},
                          std::vector<std::string>{"back"}};

emulator::LedgerRecord dropped() {
  emulator::LedgerRecord record;
  record.number = 12;
  record.in = instant_from_ns(1000);
  record.rule = 1;
  record.stage = emulator::Stage::loss;
  record.disposition = emulator::Disposition::dropped;
  record.roce = true;
  record.opcode = 4;
  record.qpn = 0x123456;
  record.psn = 0xffffff;
  return record;
}

TEST(LedgerLine, HoldsEveryFieldUnderItsName) {
  const auto line = nlohmann::json::parse(ledger_line(dropped(), kRules, 500));
  EXPECT_EQ(line["direction"], "west-to-east");
  EXPECT_EQ(line["frame"], 12);
  EXPECT_EQ(line["time_in_ns"], 1500);
  EXPECT_TRUE(line["time_out_ns"].is_null());
  EXPECT_EQ(line["rule"], kRules[0][1]);
  EXPECT_EQ(line["stage"], "loss");
  EXPECT_EQ(line["action"], "drop");
  EXPECT_EQ(line["infiniband.bth.destqp"], 0x123456);
  EXPECT_EQ(line["infiniband.bth.psn"], 0xffffff);
  EXPECT_EQ(line["infiniband.bth.opcode"], 4);
}

TEST(LedgerLine, AnUntouchedFrameHasNoRuleAndNoBth) {
  emulator::LedgerRecord record;
  record.in = record.out = instant_from_ns(7);
  record.direction = emulator::Direction::east_to_west;
  const auto line = nlohmann::json::parse(ledger_line(record, kRules, 0));
  EXPECT_EQ(line["direction"], "east-to-west");
  EXPECT_TRUE(line["rule"].is_null());
  EXPECT_EQ(line["time_out_ns"], 7);
  EXPECT_EQ(line["action"], "pass");
  EXPECT_FALSE(line.contains("infiniband.bth.psn"));
}

/// What a full disk could not take is counted, and the error says so.
TEST(LedgerFile, AFullDiskIsCountedAndNotWaitedFor) {
  for (const auto format : {LedgerFormat::json_lines, LedgerFormat::binary}) {
    auto file = LedgerFile::create("/dev/full", format, kRules, 0);
    ASSERT_TRUE(file);
    const std::vector<emulator::LedgerRecord> records(5000, dropped());
    for (int i = 0; i < 3; ++i) (*file)->write(records);
    const auto closed = (*file)->close(7);
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().exit, ExitCode::environment);
    EXPECT_THAT(
        closed.error().message,
        testing::HasSubstr("/dev/full: cannot be written: No space left on device: its first "
                           "0 records, 0 B, are valid, and 15007 are missing"));
    EXPECT_EQ((*file)->records(), 0U);
    EXPECT_EQ((*file)->lost(), 15'000U);
  }
}

/// A file that reaches its limit ends with its last whole record.
TEST(LedgerFile, AFileThatIsCutOffHasWholeRecords) {
  char path[] = "/tmp/longwire-XXXXXX";
  close(mkstemp(path));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 50'000, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  auto file = LedgerFile::create(path, LedgerFormat::json_lines, kRules, 0);
  const std::vector<emulator::LedgerRecord> records(1000, dropped());
  if (file) (*file)->write(records);
  const bool closed = file && (*file)->close().has_value();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_TRUE(file);
  EXPECT_FALSE(closed);
  std::ifstream in(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    EXPECT_EQ(line, ledger_line(dropped(), kRules, 0));
  std::remove(path);
  EXPECT_GT(lines, 0U);
  EXPECT_EQ(lines, (*file)->records());
  EXPECT_EQ((*file)->records() + (*file)->lost(), records.size());
}

TEST(LedgerFile, SoManyChangesWaitForARecordAndOthersAreCounted) {
  auto file = LedgerFile::create("/dev/null", LedgerFormat::json_lines, kRules, 0);
  ASSERT_TRUE(file) << file.error().message;
  for (int i = 0; i < 10'005; ++i)
    (*file)->note({.by = "page", .what = {"", "", "seed", "1", "2"}});
  EXPECT_EQ((*file)->lost(), 5U);
  (*file)->write(std::vector{dropped()});
  (*file)->note({.by = "page", .what = {"", "", "seed", "2", "1"}});
  EXPECT_EQ((*file)->lost(), 5U);
  EXPECT_TRUE((*file)->close());
}

TEST(LedgerFile, WhereItCanNotWriteItSaysSo) {
  const auto file =
      LedgerFile::create("/no such folder/ledger", LedgerFormat::json_lines, kRules, 0);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().exit, ExitCode::environment);
  EXPECT_THAT(file.error().message, testing::HasSubstr("/no such folder/ledger"));
}

TEST(LedgerFile, AFullDiskIsNoticedAtTheLatestWhenClosed) {
  auto file = LedgerFile::create("/dev/full", LedgerFormat::json_lines, kRules, 0);
  ASSERT_TRUE(file);
  const auto record = dropped();
  (*file)->write(std::span(&record, 1));
  EXPECT_FALSE((*file)->close());
}

/// Lets the writing thread through only when told to.
class Gate : public emulator::LedgerSink {
 public:
  void write(std::span<const emulator::LedgerRecord> records) override {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
    for (const auto& record : records) numbers_.push_back(record.number);
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  [[nodiscard]] const std::vector<std::uint64_t>& numbers() const { return numbers_; }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  std::vector<std::uint64_t> numbers_;
};

void write_numbered(LedgerThread& thread, std::uint64_t first, std::uint64_t count) {
  emulator::LedgerRecord record;
  for (std::uint64_t i = 0; i < count; ++i) {
    record.number = first + i;
    thread.write(std::span(&record, 1));
  }
}

TEST(LedgerThread, WritesEverythingInOrder) {
  Gate gate;
  gate.open();
  LedgerThread thread(gate);
  write_numbered(thread, 0, 1000);
  thread.finish();
  ASSERT_EQ(gate.numbers().size(), 1000U);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(gate.numbers()[i], i);
  EXPECT_EQ(thread.skipped(), 0U);
}

/// A writer that is stuck costs the data path nothing: records are skipped and counted.
TEST(LedgerThread, WhatItCanNotTakeIsCounted) {
  constexpr std::uint64_t kMany = 400'000;  // more than its ring holds
  Gate gate;
  LedgerThread thread(gate);
  write_numbered(thread, 0, kMany);
  EXPECT_GT(thread.skipped(), 0U);
  gate.open();
  thread.finish();
  EXPECT_EQ(gate.numbers().size() + thread.skipped(), kMany);
}

}  // namespace ledger_test
}  // namespace lw::impair

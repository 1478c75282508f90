// SPDX-License-Identifier: BSD-3-Clause
#include <condition_variable>
#include <mutex>

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

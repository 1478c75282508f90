// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/binary_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impair/record/ledger_file.h"

namespace lw::impair {
namespace binary_ledger_test {

using testing::HasSubstr;

const RuleNames kRules = {std::vector<std::string>{"first", "a \"quoted\" name\n"},
                          std::vector<std::string>{"back"}};

/// One of each kind that there is.
std::vector<emulator::LedgerRecord> some_records() {
  emulator::LedgerRecord dropped;
  dropped.number = 0x0102030405060708;
  dropped.in = instant_from_ns(1'700'000'000'000'000'001);
  dropped.rule = 1;
  dropped.stage = emulator::Stage::outage;
  dropped.acted.add(emulator::Stage::outage);
  dropped.disposition = emulator::Disposition::dropped;
  dropped.roce = true;
  dropped.opcode = 0x81;
  dropped.qpn = 0xfedcba;
  dropped.psn = 0xffffff;
  emulator::LedgerRecord delayed = dropped;
  delayed.direction = emulator::Direction::east_to_west;
  delayed.rule = 0;
  delayed.out = instant_from_ns(1'700'000'000'000'000'900);
  delayed.acted = {};
  delayed.acted.add(emulator::Stage::event);
  delayed.acted.add(emulator::Stage::reorder);
  delayed.stage = emulator::Stage::reorder;
  delayed.disposition = emulator::Disposition::delayed;
  delayed.copy = 3;
  emulator::LedgerRecord marked = delayed;
  marked.acted = {};
  marked.acted.add(emulator::Stage::event);
  marked.stage = emulator::Stage::event;
  marked.aimed = emulator::EventAction::mark;
  emulator::LedgerRecord foreign;
  foreign.in = foreign.out = instant_from_ns(5);  // no rule
  emulator::LedgerRecord away = foreign;
  away.disposition = emulator::Disposition::link_down;
  return {dropped, delayed, marked, foreign, away};
}

std::string file_of(std::span<const emulator::LedgerRecord> records) {
  std::string file;
  binary_ledger::put_header(file);
  binary_ledger::put_names(file, kRules);
  binary_ledger::put_records(file, records, 0);
  binary_ledger::put_end(file, records.size(), 7);
  return file;
}

auto lines_of(const std::string& file, std::vector<std::string>& lines) {
  return binary_ledger::read(std::as_bytes(std::span(file)),
                             [&](const emulator::LedgerRecord& record, const RuleNames& names) {
                               lines.push_back(ledger_line(record, names, 0));
                             });
}

TEST(BinaryLedger, SaysWhatJsonLinesWouldHaveSaid) {
  const auto records = some_records();
  std::vector<std::string> lines;
  const auto end = lines_of(file_of(records), lines);
  ASSERT_TRUE(end) << end.error();
  ASSERT_TRUE(*end);
  EXPECT_EQ((*end)->records, 5U);
  EXPECT_EQ((*end)->skipped, 7U);
  ASSERT_EQ(lines.size(), records.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i], ledger_line(records[i], kRules, 0));
  EXPECT_THAT(lines[2], HasSubstr(R"("stage":"event","action":"mark")"));
}

/// The documented layout, byte by byte.
TEST(BinaryLedger, ARecordIsFortyFourBytesInTheirPlaces) {
  auto records = some_records();
  records[0].rule = 0x1e0001;
  std::string block;
  binary_ledger::put_records(block, std::span(records).first(1), 1);
  ASSERT_EQ(block.size(), 52U);
  const std::string_view record = std::string_view(block).substr(8);
  EXPECT_EQ(record.substr(0, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(record.substr(16, 8), std::string_view("\0\0\0\0\0\0\0\x80", 8)) << "never left";
  EXPECT_EQ(record.substr(24, 4), "\xba\xdc\xfe\x81");
  EXPECT_EQ(record.substr(28, 4), "\xff\xff\xff\x01");
  EXPECT_EQ(record.substr(32, 8), std::string_view("\x01\x00\x04\x00\x00\x02\x02\x00", 8));
  EXPECT_EQ(record.substr(40, 4), std::string_view("\x1e\x00\x00\x00", 4));
}

/// Files of version 1 have records of 40 bytes, without the last four.
TEST(BinaryLedger, ReadsVersionOne) {
  const auto records = some_records();
  const std::string now = file_of(records);
  const std::size_t block = now.size() - 24 - records.size() * 44 - 8;
  std::string old = now.substr(0, block + 8);
  old[8] = 1;
  old[10] = 40;
  old[block + 4] = static_cast<char>(records.size() * 40);
  for (std::size_t i = 0; i < records.size(); ++i) old += now.substr(block + 8 + i * 44, 40);
  old += now.substr(now.size() - 24);
  std::vector<std::string> lines;
  const auto end = lines_of(old, lines);
  ASSERT_TRUE(end) << end.error();
  ASSERT_EQ(lines.size(), records.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i], ledger_line(records[i], kRules, 0));
}

TEST(BinaryLedger, ChangesKeepTheirPlacesAmongTheRecords) {
  const auto records = some_records();
  std::string file;
  binary_ledger::put_header(file);
  binary_ledger::put_names(file, kRules);
  binary_ledger::put_change(file, R"({"change":{"key":"a"}})");
  binary_ledger::put_records(file, records, 0);
  binary_ledger::put_change(file, R"({"change":{"key":"b"}})");
  binary_ledger::put_end(file, records.size(), 0);
  std::vector<std::string> seen;
  const auto end = binary_ledger::read(
      std::as_bytes(std::span(file)),
      [&](const auto&, const auto&) { seen.emplace_back("record"); },
      [&](std::string_view change) { seen.emplace_back(change); });
  ASSERT_TRUE(end) << end.error();
  EXPECT_EQ(seen.front(), R"({"change":{"key":"a"}})");
  EXPECT_EQ(seen.back(), R"({"change":{"key":"b"}})");
  EXPECT_EQ(seen.size(), records.size() + 2);
  std::string wrong;
  binary_ledger::put_header(wrong);
  binary_ledger::put_change(wrong, "no JSON");
  EXPECT_THAT(binary_ledger::read(std::as_bytes(std::span(wrong)), {}).error(),
              HasSubstr("byte 24: expected a change as JSON"));
}

TEST(BinaryLedger, EveryTruncationAndEveryNonsenseIsTold) {
  const std::string file = file_of(some_records());
  std::vector<std::string> lines;
  for (std::size_t length = 0; length < file.size(); ++length) {
    const auto end = lines_of(file.substr(0, length), lines);
    EXPECT_FALSE(end && *end) << length;
  }
  std::string wild = file;
  wild[8] = 9;
  EXPECT_THAT(lines_of(wild, lines).error(), HasSubstr("version 9"));
  wild = file;
  wild[file.size() - 24 - 44 + 36] = 2;  // the last record's direction
  EXPECT_THAT(lines_of(wild, lines).error(), HasSubstr("mean nothing"));
  EXPECT_THAT(lines_of("not a ledger at all", lines).error(), HasSubstr("LWLEDGER"));
  EXPECT_THAT(lines_of("", lines).error(), HasSubstr("empty file"));
  EXPECT_THAT(lines_of(file.substr(0, 9), lines).error(), HasSubstr("byte 9: the file ends"));
  EXPECT_THAT(lines_of(file + "abc", lines).error(), HasSubstr("found 3 B"));
}

}  // namespace binary_ledger_test
}  // namespace lw::impair

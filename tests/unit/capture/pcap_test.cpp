// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/capture/file_builder.h"

namespace lw::capture::test {
namespace {

using testing::HasSubstr;

FileBuilder two_frames(bool big_endian, std::uint32_t magic) {
  FileBuilder file(big_endian);
  file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(96).u32(kLinkTypeEthernet);
  file.u32(1700000000).u32(123456).u32(5).u32(1500).raw("first");
  file.u32(1700000001).u32(7).u32(6).u32(6).raw("second");
  return file;
}

struct Flavour {
  const char* name;
  bool big_endian;
  std::uint32_t magic;
  std::int64_t fraction_ns;
};

class PcapFlavour : public testing::TestWithParam<Flavour> {};

TEST_P(PcapFlavour, IsRead) {
  const Flavour& flavour = GetParam();
  const FileBuilder file = two_frames(flavour.big_endian, flavour.magic);
  auto reader = Reader::from_memory(file.bytes());
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_EQ(reader->interfaces().size(), 1u);
  EXPECT_EQ(reader->interfaces()[0].link_type, kLinkTypeEthernet);
  EXPECT_EQ(reader->interfaces()[0].snap_length, 96u);

  const Yield yield = read_all(*reader);
  EXPECT_EQ(yield.error, "");
  ASSERT_EQ(yield.records.size(), 2u);
  EXPECT_EQ(yield.records[0].bytes, "first");
  EXPECT_EQ(yield.records[0].wire_length, 1500u);
  EXPECT_EQ(yield.records[0].offset, 24u);
  EXPECT_EQ(yield.records[0].stamp_ns, 1700000000'000000000 + 123456 * flavour.fraction_ns);
  EXPECT_EQ(yield.records[1].bytes, "second");
  EXPECT_EQ(yield.records[1].offset, 45u);
  EXPECT_EQ(yield.records[1].stamp_ns, 1700000001'000000000 + 7 * flavour.fraction_ns);
}

INSTANTIATE_TEST_SUITE_P(All, PcapFlavour,
                         testing::Values(Flavour{"LittleMicro", false, 0xa1b2c3d4, 1000},
                                         Flavour{"BigMicro", true, 0xa1b2c3d4, 1000},
                                         Flavour{"LittleNano", false, 0xa1b23c4d, 1},
                                         Flavour{"BigNano", true, 0xa1b23c4d, 1}),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(Pcap, ModifiedRecordsHaveEightMoreBytes) {
  FileBuilder file(false);
  file.u32(0xa1b2cd34).u16(2).u16(4).u32(0).u32(0).u32(96).u32(1);
  file.u32(1).u32(2).u32(4).u32(4).u32(3).u16(0x800).u16(0).raw("abcd");
  const Yield yield = read_all(file.bytes());
  EXPECT_EQ(yield.error, "");
  ASSERT_EQ(yield.records.size(), 1u);
  EXPECT_EQ(yield.records[0].bytes, "abcd");
}

TEST(Pcap, EveryTruncationDeliversWhatIsWholeAndNamesWhereItEnds) {
  const FileBuilder whole = two_frames(false, kPcapMicroseconds);
  for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
    SCOPED_TRACE(size);
    const Yield yield = read_all(whole.bytes().first(size));
    EXPECT_EQ(yield.records.size(), size >= 45 ? 1u : 0u);
    if (size == 24 || size == 45) {
      EXPECT_EQ(yield.error, "");
      continue;
    }
    const int offset = size > 45 ? 45 : size > 24 ? 24 : 0;
    EXPECT_THAT(yield.error, HasSubstr("offset " + std::to_string(offset) + ":"));
  }
}

TEST(Pcap, AnErrorRepeats) {
  const FileBuilder whole = two_frames(false, kPcapMicroseconds);
  auto reader = Reader::from_memory(whole.bytes().first(50));
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->next());
  const auto first = reader->next(), second = reader->next();
  ASSERT_FALSE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(first.error().message, second.error().message);
  EXPECT_EQ(first.error().exit, ExitCode::failed);
}

TEST(Pcap, AnInsaneLengthIsAnErrorAndNoAllocation) {
  FileBuilder file(false);
  file.u32(kPcapMicroseconds).u16(2).u16(4).u32(0).u32(0).u32(96).u32(1);
  file.u32(1).u32(2).u32(0xffffffff).u32(60).raw("rest");
  const Yield yield = read_all(file.bytes());
  EXPECT_THAT(yield.error, HasSubstr("offset 24: a record of 4294967295 bytes"));
}

TEST(Pcap, AWireLengthBelowTheCapturedOneCountsAsEqual) {
  FileBuilder file(false);
  file.u32(kPcapMicroseconds).u16(2).u16(4).u32(0).u32(0).u32(96).u32(1);
  file.u32(1).u32(2).u32(4).u32(0).raw("abcd");
  const Yield yield = read_all(file.bytes());
  ASSERT_EQ(yield.records.size(), 1u);
  EXPECT_EQ(yield.records[0].wire_length, 4u);
}

TEST(Pcap, AVersionThatIsNotTwoIsRefused) {
  FileBuilder file(false);
  file.u32(kPcapMicroseconds).u16(3).u16(0).u32(0).u32(0).u32(96).u32(1);
  EXPECT_THAT(read_all(file.bytes()).error, HasSubstr("expected version 2 of the pcap format"));
}

TEST(NotACapture, IsRefusedAtOffsetZero) {
  EXPECT_THAT(read_all(FileBuilder(false).bytes()).error, HasSubstr("offset 0: the file is empty"));
  EXPECT_THAT(read_all(FileBuilder(false).raw("[run]").bytes()).error,
              HasSubstr("offset 0: expected a pcap or pcapng capture, found 5b 72 75 6e"));
  EXPECT_THAT(
      read_all(FileBuilder(false).raw("\x1f\x8b\x08").bytes()).error,
      HasSubstr(
          "offset 0 of the unpacked file: its gzip stream cannot be unpacked: the file ends"));
}

TEST(NotACapture, AMissingFileIsAUsageError) {
  const auto reader = Reader::open("/nonexistent/capture.pcap");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().exit, ExitCode::usage);
  EXPECT_THAT(reader.error().message, HasSubstr("/nonexistent/capture.pcap"));
}

TEST(NotACapture, AFolderIsRefused) {
  const auto reader = Reader::open("/");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().exit, ExitCode::environment);
}

}  // namespace
}  // namespace lw::capture::test

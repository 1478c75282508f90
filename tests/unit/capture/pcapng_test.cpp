// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary.h"
#include "unit/capture/file_builder.h"

namespace lw::capture::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};

FileBuilder& section(FileBuilder& file) {
  return file.block(0x0a0d0d0a, file.body().u32(0x1a2b3c4d).u16(1).u16(0).u64(kUnknownLength));
}

FileBuilder& enhanced(FileBuilder& file, std::uint32_t interface, std::uint64_t stamp,
                      std::string_view bytes, std::uint32_t wire, std::string_view comment = {}) {
  FileBuilder body = file.body();
  body.u32(interface).u32(stamp >> 32).u32(stamp & 0xffffffff).u32(bytes.size()).u32(wire);
  body.padded(bytes);
  if (!comment.empty()) body.option(1, comment).option(0, "");
  return file.block(6, body);
}

/// Two interfaces of different link type, snap length and resolution: a file libpcap refuses.
FileBuilder mixed(bool big_endian) {
  FileBuilder file(big_endian);
  section(file);
  file.block(1, file.body().u16(1).u16(0).u32(0).option(2, "eth0").option(0, ""));
  FileBuilder raw_ip = file.body();
  raw_ip.u16(101).u16(0).u32(64).option(9, "\x09");
  raw_ip.u16(14).u16(8).u64(100).option(0, "");  // if_tsoffset: 100 s
  file.block(1, raw_ip);
  enhanced(file, 0, 1700000000'000001, "abcde", 1500, "a remark");
  file.block(5, file.body().u32(0).u64(0));             // statistics
  file.block(0x40000bad, file.body().u32(0xffffffff));  // somebody's own
  enhanced(file, 1, 1700000000'000000001, "fghi", 4);
  file.block(3, file.body().u32(3).padded("jkl"));                                    // simple
  file.block(2, file.body().u16(1).u16(7).u32(0).u32(5).u32(2).u32(9).padded("mn"));  // obsolete
  return file;
}

class PcapngOrder : public testing::TestWithParam<bool> {};

TEST_P(PcapngOrder, EveryKindOfPacketBlockIsRead) {
  const FileBuilder file = mixed(GetParam());
  auto reader = Reader::from_memory(file.bytes());
  ASSERT_TRUE(reader) << reader.error().message;
  const Yield yield = read_all(*reader);
  EXPECT_EQ(yield.error, "");
  ASSERT_EQ(reader->interfaces().size(), 2u);
  EXPECT_EQ(reader->interfaces()[0].name, "eth0");
  EXPECT_EQ(reader->interfaces()[1].link_type, kLinkTypeRaw);

  const auto& records = yield.records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].bytes, "abcde");
  EXPECT_EQ(records[0].wire_length, 1500u);
  EXPECT_EQ(records[0].stamp_ns, 1700000000'000001000);
  EXPECT_EQ(records[0].comment, "a remark");
  EXPECT_EQ(records[1].bytes, "fghi");
  EXPECT_EQ(records[1].interface, 1u);
  EXPECT_EQ(records[1].stamp_ns, 1700000100'000000001);
  EXPECT_EQ(records[2].bytes, "jkl");
  EXPECT_EQ(records[2].stamp_ns, 0);
  EXPECT_EQ(records[3].bytes, "mn");
  EXPECT_EQ(records[3].wire_length, 9u);
  EXPECT_EQ(records[3].stamp_ns, 100'000000005);
}

TEST_P(PcapngOrder, EveryTruncationEndsInAnErrorOrAtABlock) {
  const FileBuilder whole = mixed(GetParam());
  std::size_t clean = 0;
  for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
    const Yield yield = read_all(whole.bytes().first(size));
    EXPECT_LE(yield.records.size(), 4u);
    if (yield.error.empty())
      ++clean;
    else
      EXPECT_THAT(yield.error, HasSubstr("offset ")) << size;
  }
  EXPECT_EQ(clean, 8u);  // behind the section header and the first seven blocks
}

INSTANTIATE_TEST_SUITE_P(Both, PcapngOrder, testing::Bool(),
                         [](const auto& p) { return std::string(p.param ? "Big" : "Little"); });

TEST(Pcapng, ASectionOfTheOtherByteOrderBeginsItsOwnInterfaces) {
  const FileBuilder first = mixed(false);
  FileBuilder second(true);
  section(second).block(1, second.body().u16(113).u16(0).u32(0));
  enhanced(second, 0, 1, "xyz", 3);
  const std::string file = first.text() + second.text();
  auto reader = Reader::from_memory(std::as_bytes(std::span(file)));
  ASSERT_TRUE(reader);
  const Yield yield = read_all(*reader);
  EXPECT_EQ(yield.error, "");
  ASSERT_EQ(yield.records.size(), 5u);
  EXPECT_EQ(yield.records[4].interface, 2u);
  EXPECT_EQ(yield.records[4].bytes, "xyz");
  EXPECT_EQ(yield.records[4].offset, first.text().size() + 28 + 20);
  EXPECT_EQ(reader->interfaces()[2].link_type, kLinkTypeLinuxSll);
}

TEST(Pcapng, ASimplePacketIsCutAtTheSnapLength) {
  FileBuilder file(false);
  section(file).block(1, file.body().u16(1).u16(0).u32(4));
  file.block(3, file.body().u32(1500).raw("abcd"));
  const Yield yield = read_all(file.bytes());
  ASSERT_EQ(yield.records.size(), 1u);
  EXPECT_EQ(yield.records[0].bytes, "abcd");
  EXPECT_EQ(yield.records[0].wire_length, 1500u);
}

TEST(Pcapng, DamageIsNamedWithItsOffset) {
  FileBuilder undescribed(false);
  section(undescribed);
  enhanced(undescribed, 0, 1, "abcd", 4);
  EXPECT_THAT(read_all(undescribed.bytes()).error, HasSubstr("offset 28: a packet of interface 0"));

  FileBuilder overlong(false);
  section(overlong).block(1, overlong.body().u16(1).u16(0).u32(0));
  overlong.block(6, overlong.body().u32(0).u32(0).u32(0).u32(400).u32(400).raw("abcd"));
  EXPECT_THAT(read_all(overlong.bytes()).error, HasSubstr("offset 48: a packet of 400 bytes"));

  FileBuilder insane(false);
  section(insane).u32(6).u32(0xfffffffc).u32(0);
  EXPECT_THAT(read_all(insane.bytes()).error, HasSubstr("offset 28: a block of type 0x6"));

  FileBuilder trailer(false);
  section(trailer).u32(0xbad).u32(16).u32(0).u32(20);
  EXPECT_THAT(read_all(trailer.bytes()).error, HasSubstr("begins with length 16 and ends with"));
}

/// Frames that were dropped: those before a packet (epb_dropcount), and the totals of an interface
/// (isb_ifdrop and isb_osdrop, of which the newest count holds). The larger count is the file's.
TEST_P(PcapngOrder, CountsOfDroppedFramesAreRead) {
  FileBuilder file(GetParam());
  section(file);
  for (int interface = 0; interface < 2; ++interface)
    file.block(1, file.body().u16(1).u16(0).u32(0));
  FileBuilder packet = file.body();
  packet.u32(0).u32(0).u32(1).u32(4).u32(4).padded("abcd").u16(4).u16(8).u64(7).option(0, "");
  file.block(6, packet).block(6, packet);
  for (const std::uint64_t drops : {20, 30})
    file.block(
        5, file.body().u32(1).u64(0).u16(5).u16(8).u64(drops).u16(7).u16(8).u64(1).option(0, ""));
  auto reader = Reader::from_memory(file.bytes());
  ASSERT_TRUE(reader) << reader.error().message;
  const Yield yield = read_all(*reader);
  EXPECT_EQ(yield.error, "");
  EXPECT_EQ(reader->interfaces()[0].dropped(), 14U);
  EXPECT_EQ(reader->interfaces()[1].dropped(), 31U);
}

TEST(Pcapng, DamagedOptionsLoseNoFrame) {
  FileBuilder file(false);
  section(file).block(1, file.body().u16(1).u16(0).u32(0));
  file.block(6, file.body().u32(0).u32(0).u32(9).u32(4).u32(4).raw("abcd").u16(1).u16(999));
  const Yield yield = read_all(file.bytes());
  EXPECT_EQ(yield.error, "");
  ASSERT_EQ(yield.records.size(), 1u);
  EXPECT_EQ(yield.records[0].comment, "");
}

TEST(PcapngStamp, EveryResolutionBecomesNanoseconds) {
  EXPECT_EQ(stamp_to_ns(1'500'000, {6, 0}), 1'500'000'000);
  EXPECT_EQ(stamp_to_ns(1'500'000, {6, 10}), 11'500'000'000);
  EXPECT_EQ(stamp_to_ns(1'500'000, {6, -1}), 500'000'000);
  EXPECT_EQ(stamp_to_ns(3, {0, 0}), 3'000'000'000);
  EXPECT_EQ(stamp_to_ns(1'234'567'890'123, {12, 0}), 1'234'567'890);
  EXPECT_EQ(stamp_to_ns(~std::uint64_t{0}, {127, 0}), 0);
  EXPECT_EQ(stamp_to_ns(3, {0x81, 0}), 1'500'000'000);                       // halves
  EXPECT_EQ(stamp_to_ns(std::uint64_t{5} << 31, {0xa0, 0}), 2'500'000'000);  // 2^-32
  EXPECT_EQ(stamp_to_ns(std::uint64_t{3} << 62, {0xbf, 0}), 1'500'000'000);  // 2^-63
  EXPECT_EQ(stamp_to_ns(std::uint64_t{1} << 63, {0xc0, 0}), 500'000'000);    // 2^-64
  EXPECT_EQ(stamp_to_ns(std::uint64_t{1} << 63, {0xff, 0}), 0);              // 2^-127
}

/// A record that is larger than the reader's buffer, so that it has to grow.
TEST(Pcapng, AFrameAboveTheBufferIsRead) {
  const std::string large(3'000'000, 'x');
  FileBuilder file(false);
  section(file).block(1, file.body().u16(1).u16(0).u32(0));
  enhanced(file, 0, 1, "before", 6);
  enhanced(file, 0, 2, large, 3'000'000);
  enhanced(file, 0, 3, "behind", 6);
  const std::string path = lw::test::temporary_folder() + "large.pcapng";
  std::ofstream(path) << file.text();
  auto reader = Reader::open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  const Yield yield = read_all(*reader);
  EXPECT_EQ(yield.error, "");
  ASSERT_EQ(yield.records.size(), 3u);
  EXPECT_EQ(yield.records[1].bytes, large);
  EXPECT_EQ(yield.records[2].bytes, "behind");
  EXPECT_EQ(yield.records[2].offset, file.text().size() - 40);
}

}  // namespace
}  // namespace lw::capture::test

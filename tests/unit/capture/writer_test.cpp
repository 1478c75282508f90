// SPDX-License-Identifier: BSD-3-Clause
#include "capture/writer.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary.h"
#include "unit/capture/file_builder.h"

namespace lw::capture::test {
namespace {

using testing::HasSubstr;

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string path_of(const std::string& name) { return lw::test::temporary_folder() + name; }

/// What `command` prints; "absent" where there is no such program.
std::string output_of(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string text;
  for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  const int status = pipe ? pclose(pipe) : -1;
  return status == 127 << 8 ? "absent" : text;
}

TEST(Writer, PcapBytesAreTheFormats) {
  const std::string path = path_of("bytes.pcap");
  auto writer = Writer::create(path, Format::pcap);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(instant_from_ns(1700000000'123456789), bytes_of("abc"), 60));
  ASSERT_TRUE(writer->close());
  FileBuilder expected(std::endian::native == std::endian::big);
  expected.u32(0xa1b23c4d).u16(2).u16(4).u32(0).u32(0).u32(262144).u32(1);
  expected.u32(1700000000).u32(123456789).u32(3).u32(60).raw("abc");
  EXPECT_EQ(contents(path), expected.text());
}

TEST(Writer, RoundTripsEveryFormat) {
  for (const Format format : {Format::pcap, Format::pcap_us, Format::pcapng}) {
    // A file that was read is never an output of the same process: a name for each.
    const std::string path = path_of("round_trip" + std::to_string(static_cast<int>(format)));
    auto writer = Writer::create(path, format);
    ASSERT_TRUE(writer);
    for (int i = 0; i < 3000; ++i) {  // several flushes
      const std::string frame(static_cast<std::size_t>(i % 1501), static_cast<char>(i));
      ASSERT_TRUE(writer->write(instant_from_ns(i * 1000), bytes_of(frame), 1600));
    }
    ASSERT_TRUE(writer->close());
    auto reader = Reader::open(path);
    ASSERT_TRUE(reader);
    const Yield yield = read_all(*reader);
    EXPECT_EQ(yield.error, "");
    ASSERT_EQ(yield.records.size(), 3000u);
    for (int i = 0; i < 3000; ++i) {
      const Kept& kept = yield.records[static_cast<std::size_t>(i)];
      ASSERT_EQ(kept.bytes, std::string(static_cast<std::size_t>(i % 1501), static_cast<char>(i)));
      ASSERT_EQ(kept.stamp_ns, i * 1000);
      ASSERT_EQ(kept.wire_length, 1600u);
    }
  }
}

TEST(Writer, PcapngKeepsInterfacesAndComments) {
  const std::string path = path_of("two.pcapng");
  auto writer = Writer::create(path, Format::pcapng,
                               {{kLinkTypeEthernet, 128, "west"}, {kLinkTypeRaw, 0, "east"}});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(instant_from_ns(-5), bytes_of("abcde"), 5, 1, "dropped by rule 3"));
  ASSERT_TRUE(writer->write(instant_from_ns(7), bytes_of("f"), 1, 0));
  ASSERT_TRUE(writer->close());
  auto reader = Reader::open(path);
  ASSERT_TRUE(reader);
  const Yield yield = read_all(*reader);
  ASSERT_EQ(yield.records.size(), 2u);
  EXPECT_EQ(yield.records[0].comment, "dropped by rule 3");
  EXPECT_EQ(yield.records[0].interface, 1u);
  EXPECT_EQ(yield.records[0].stamp_ns, -5);
  EXPECT_EQ(reader->interfaces()[0].name, "west");
  EXPECT_EQ(reader->interfaces()[0].snap_length, 128u);
  EXPECT_EQ(reader->interfaces()[1].link_type, kLinkTypeRaw);
}

TEST(Writer, OtherProgramsReadWhatItWrites) {
  for (const char* name : {"others.pcap", "others.pcapng"}) {
    const std::string path = path_of(name);
    auto writer = Writer::create(path, format_for(path));
    ASSERT_TRUE(writer);
    const std::string frame(60, '\xff');
    ASSERT_TRUE(
        writer->write(instant_from_ns(1700000000'123456789), bytes_of(frame), 1514, 0, "a remark"));
    ASSERT_TRUE(writer->close());
    const std::string seen = output_of(
        "tshark -r " + path + " -T fields -e frame.time_epoch -e frame.len -e frame.cap_len");
    if (seen == "absent") GTEST_SKIP() << "needs tshark: apt install tshark";
    EXPECT_EQ(seen, "1700000000.123456789\t1514\t60\n");
  }
  EXPECT_EQ(output_of("tshark -r " + path_of("others.pcapng") + " -T fields -e frame.comment"),
            "a remark\n");
}

TEST(Writer, RefusesWhatTheFormatCannotHold) {
  EXPECT_FALSE(Writer::create(path_of("no.pcap"), Format::pcap, {{1, 0, ""}, {101, 0, ""}}));
  EXPECT_FALSE(Writer::create(path_of("no.pcap"), Format::pcap, {}));
  const std::string compressed = path_of("no.pcap.gz");
  EXPECT_FALSE(Writer::create(compressed, Format::pcap));
  EXPECT_FALSE(std::filesystem::exists(compressed));
  auto writer = Writer::create(path_of("stamps.pcap"), Format::pcap);
  ASSERT_TRUE(writer);
  EXPECT_FALSE(writer->write(instant_from_ns(-1), bytes_of("a"), 1));
  EXPECT_FALSE(writer->write(instant_from_ns(0), bytes_of("a"), 1, 1));
  EXPECT_TRUE(writer->write(instant_from_ns(4294967295'999999999), bytes_of("a"), 1));
}

TEST(Writer, AFullDiskIsAnEnvironmentError) {
  auto writer = Writer::create("/dev/full", Format::pcap);
  ASSERT_TRUE(writer);
  const auto closed = writer->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().exit, ExitCode::environment);
  EXPECT_THAT(closed.error().message, HasSubstr("/dev/full"));
}

TEST(Writer, TheNameSaysTheFormat) {
  EXPECT_EQ(format_for("a.pcapng"), Format::pcapng);
  EXPECT_EQ(format_for("a.pcap"), Format::pcap);
  EXPECT_EQ(format_for("-"), Format::pcap);
}

}  // namespace
}  // namespace lw::capture::test

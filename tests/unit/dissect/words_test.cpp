// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dissect/list/list_format.h"
#include "roce/describe.h"
#include "unit/dissect/capture_file.h"

namespace lw::dissect::test {
namespace {

using testing::HasSubstr;

std::string aeth_words(std::uint8_t syndrome) { return roce::aeth_text({syndrome, 7}); }

TEST(Words, OfExtremeStamps) {
  const auto list = make_list_format({});
  CapturedFrame captured;
  std::string out;
  captured.record.stamp = Instant::max();
  list->frame(out, Dissection(captured));
  captured.record.stamp = Instant::min();
  list->frame(out, Dissection(captured));
  EXPECT_THAT(out, HasSubstr("-9223372036.854775807"));
}

// The syndromes' meanings and the steps of credits: IBTA vol. 1, tables 45 to 47.
TEST(Words, OfEverySyndrome) {
  EXPECT_EQ(aeth_words(0x1f), "ACK msn 7");
  EXPECT_EQ(aeth_words(0x00), "ACK msn 7 credits 0");
  EXPECT_EQ(aeth_words(0x0a), "ACK msn 7 credits 32");
  EXPECT_EQ(aeth_words(0x1e), "ACK msn 7 credits 32768");
  EXPECT_EQ(aeth_words(0x20), "RNR NAK msn 7 wait 655.36 ms");
  EXPECT_EQ(aeth_words(0x3f), "RNR NAK msn 7 wait 491.52 ms");
  EXPECT_EQ(aeth_words(0x60), "NAK msn 7: PSN sequence error");
  EXPECT_EQ(aeth_words(0x64), "NAK msn 7: invalid RD request");
  EXPECT_EQ(aeth_words(0x65), "NAK msn 7: reserved code");
  EXPECT_EQ(aeth_words(0x40), "reserved syndrome 0x40 msn 7");
}

/// The line that a format shows of one frame.
template <ListStyle kStyle>
std::string line_of(std::span<const std::byte> bytes, std::size_t wire_length = 0) {
  CapturedFrame captured;
  captured.number = 1;
  captured.record.bytes = bytes;
  captured.record.wire_length = static_cast<std::uint32_t>(std::max(wire_length, bytes.size()));
  captured.envelope = roce::open_envelope(bytes, captured.record.wire_length);
  std::string out;
  make_list_format({kStyle})->frame(out, Dissection(captured));
  return out;
}

TEST(List, ABadIcrcIsMarkedWithBothValues) {
  auto bytes = real_frames("uc_send_write.pcap")[0].bytes;
  EXPECT_THAT(line_of<ListStyle::text>(bytes), testing::Not(HasSubstr("ICRC")));
  bytes.back() ^= std::byte{1};
  EXPECT_THAT(line_of<ListStyle::text>(bytes), HasSubstr("ICRC BAD: expected "));
  EXPECT_THAT(line_of<ListStyle::json>(bytes), HasSubstr("\"longwire.icrc\":\"bad\""));
}

TEST(List, ACutFrameShowsWhatItHolds) {
  const auto bytes = real_frames("uc_send_write.pcap")[0].bytes;
  const std::string line = line_of<ListStyle::text>(std::span(bytes).first(60), bytes.size());
  EXPECT_THAT(line, HasSubstr("UC "));
  EXPECT_THAT(line, HasSubstr("[payload at offset"));
}

TEST(List, EveryTruncationGivesOneLineInEveryFormat) {
  for (const char* name : {"cm_rping.pcap", "atomic.pcap", "ipv6_rc.pcap", "vlan100.pcap"}) {
    const auto bytes = real_frames(name)[0].bytes;
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 400); ++size) {
      const auto cut = std::span(bytes).first(size);
      for (const std::string& line :
           {line_of<ListStyle::text>(cut, bytes.size()),
            line_of<ListStyle::json>(cut, bytes.size()), line_of<ListStyle::csv>(cut, bytes.size()),
            line_of<ListStyle::text>(cut), line_of<ListStyle::json>(cut)}) {
        EXPECT_EQ(std::ranges::count(line, '\n'), 1) << name << " " << size << ": " << line;
      }
    }
  }
}

TEST(List, FramesOfOtherProtocolsAreNamed) {
  const auto frames = real_frames("rc_write_send_read.pcap");
  EXPECT_THAT(line_of<ListStyle::text>(frames[0].bytes), HasSubstr("ICMPv6, 110 bytes"));
  EXPECT_THAT(line_of<ListStyle::text>(frames[2].bytes), HasSubstr("TCP, 74 bytes"));
  EXPECT_THAT(line_of<ListStyle::text>({}), HasSubstr("unknown, 0 bytes"));
}

TEST(DisplayFilter, IsRecognised) {
  EXPECT_THAT(display_filter_hint("infiniband.bth.opcode == 17"), HasSubstr("udp[8] = 4"));
  EXPECT_THAT(display_filter_hint("roce"), HasSubstr("ether proto 0x8915"));
  EXPECT_THAT(display_filter_hint("ip.addr == 10.0.0.1"), HasSubstr("host 10.0.0.1"));
  EXPECT_EQ(display_filter_hint("udp prot 4791"), "");
}

}  // namespace
}  // namespace lw::dissect::test

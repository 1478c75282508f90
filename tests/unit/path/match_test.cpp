// SPDX-License-Identifier: BSD-3-Clause
#include "path/match/match.h"

#include <gtest/gtest.h>

#include "support/path_frames.h"

namespace lw::path {
namespace {

const wire::Bth* bth_in(std::span<const std::byte> frame) {
  return bth_of(roce::open_envelope(frame));
}

roce::FrameFields fields_of(wire::Encapsulation encapsulation, int vlans) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;
  fields.bth.dest_qp = 0x1234;
  fields.encapsulation = encapsulation;
  fields.vlans.resize(static_cast<std::size_t>(vlans));
  return fields;
}

TEST(Match, RoceV2OverEitherIpWithAnyTags) {
  for (const auto encapsulation : {wire::Encapsulation::ipv4, wire::Encapsulation::ipv6})
    for (const int vlans : {0, 1, 2}) {
      const auto frame = roce::compose(fields_of(encapsulation, vlans), {});
      const auto* bth = bth_in(frame);
      ASSERT_NE(bth, nullptr);
      EXPECT_EQ(bth->dest_qp.get(), 0x1234U);
    }
}

TEST(Match, OtherFramesAreNoneOfItsBusiness) {
  EXPECT_EQ(bth_in(test::other_frame()), nullptr);
  EXPECT_EQ(bth_in({}), nullptr);
  // RoCEv1 is another ethertype, not UDP 4791.
  EXPECT_EQ(bth_in(roce::compose(fields_of(wire::Encapsulation::grh, 0), {})), nullptr);
}

TEST(Match, TheDestinationPortDecidesAlone) {
  auto frame = test::roce_frame();
  constexpr std::size_t kUdp = 34;
  frame[kUdp + 2] = std::byte{0x12};  // destination
  frame[kUdp + 3] = std::byte{0xb6};
  EXPECT_EQ(bth_in(frame), nullptr);
  frame[kUdp] = std::byte{0x12};  // source 4791
  frame[kUdp + 1] = std::byte{0xb7};
  EXPECT_EQ(bth_in(frame), nullptr);
}

TEST(Match, FragmentsAreNotMatched) {
  auto frame = test::roce_frame();
  constexpr std::size_t kFlags = 14 + 6;
  frame[kFlags] = std::byte{0x20};  // more fragments: the first piece
  EXPECT_EQ(bth_in(frame), nullptr);
  frame[kFlags] = std::byte{0x00};
  frame[kFlags + 1] = std::byte{0x10};  // a later piece
  EXPECT_EQ(bth_in(frame), nullptr);
}

TEST(Match, EveryTruncationOfTheHeadersIsNotMatched) {
  const auto frame = test::roce_frame();
  constexpr std::size_t kBthEnd = 14 + 20 + 8 + 12;
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const auto cut = std::span(frame).first(size);
    EXPECT_EQ(bth_in(cut) != nullptr, size >= kBthEnd) << size;
  }
}

TEST(Match, ABthBeyondTheIpLengthIsPadding) {
  auto frame = test::roce_frame();
  frame[14 + 2] = std::byte{0};
  frame[14 + 3] = std::byte{20 + 8 + 11};
  EXPECT_EQ(bth_in(frame), nullptr);
}

}  // namespace
}  // namespace lw::path

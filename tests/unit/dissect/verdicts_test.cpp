// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/verify/verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/dissect/capture_file.h"

namespace lw::dissect::test {
namespace {

/// An IPv4 frame cut into two fragments as RFC 791 says, by hand.
std::pair<std::vector<std::byte>, std::vector<std::byte>> fragments_of(
    const std::vector<std::byte>& frame) {
  constexpr std::size_t kIp = 14, kPayload = 34, kFirst = 48;  // bytes of payload, in eights
  auto first = std::vector(frame.begin(), frame.begin() + kPayload + kFirst);
  auto second = std::vector(frame.begin(), frame.begin() + kPayload);
  second.insert(second.end(), frame.begin() + kPayload + kFirst, frame.end());
  const auto set_length = [](std::vector<std::byte>& f) {
    f[kIp + 2] = static_cast<std::byte>((f.size() - kIp) >> 8);
    f[kIp + 3] = static_cast<std::byte>((f.size() - kIp) & 0xff);
  };
  set_length(first);
  set_length(second);
  first[kIp + 6] = std::byte{0x20};  // more fragments
  second[kIp + 6] = std::byte{0};
  second[kIp + 7] = std::byte{kFirst / 8};
  return {first, second};
}

TEST(Verify, CutFramesAndFragmentsAreUnverifiable) {
  const auto frames = real_frames("uc_send_write.pcap");
  const auto [first, second] = fragments_of(frames[1].bytes);
  const auto [later_first, later_second] = fragments_of(frames[2].bytes);
  CaptureFile file("unverifiable.pcapng");
  file.add(0, frames[0].bytes);
  file.add(1, std::span(frames[0].bytes).first(60), frames[0].bytes.size());
  file.add(2, first).add(3, second);
  file.add(4, later_second).add(5, later_first);  // out of order
  const FileVerdict v = verify_file(file.path());
  EXPECT_EQ(v.frames, 6u);
  EXPECT_EQ(v.roce, 6u);
  EXPECT_EQ(v.icrc_ok, 1u);
  EXPECT_EQ(v.bad_icrc, 0u);
  EXPECT_EQ(v.icrc_unverifiable, 5u);
}

TEST(Verify, FragmentsOfOtherTrafficAreNotRoce) {
  auto frame = real_frames("uc_send_write.pcap")[0].bytes;
  frame[14 + 20 + 2] = std::byte{0};  // UDP destination port
  const auto [first, second] = fragments_of(frame);
  CaptureFile file("others.pcapng");
  file.add(0, first).add(1, second);
  const FileVerdict v = verify_file(file.path());
  EXPECT_EQ(v.frames, 2u);
  EXPECT_EQ(v.roce, 0u);
}

TEST(Verify, ABadFrameIsNamedWithItsPlaceAndBytes) {
  auto frame = real_frames("uc_send_write.pcap")[0].bytes;
  const std::vector<std::byte> right(frame.end() - 4, frame.end());
  frame.back() ^= std::byte{0xff};
  CaptureFile file("bad.pcapng");
  file.add(0, frame);
  const FileVerdict v = verify_file(file.path());
  ASSERT_EQ(v.first_bad.size(), 1u);
  EXPECT_EQ(v.first_bad[0].number, 1u);
  EXPECT_EQ(v.first_bad[0].offset, 28u + 32u);  // behind the section's and the interface's block
  EXPECT_EQ(v.first_bad[0].expected ^ v.first_bad[0].found, 0xffu);
  EXPECT_EQ(v.first_bad[0].expected & 0xff, std::to_integer<unsigned>(right[3]));
}

TEST(Verify, EveryLinkTypeIsOpened) {
  const auto ethernet = real_frames("uc_send_write.pcap")[0].bytes;
  const std::vector<std::byte> raw(ethernet.begin() + 14, ethernet.end());
  // Linux "cooked" headers: packet type, ARPHRD, address length, address, protocol.
  std::vector<std::byte> sll(16), sll2(20);
  sll[14] = std::byte{0x08};
  sll2[0] = std::byte{0x08};
  sll.insert(sll.end(), raw.begin(), raw.end());
  sll2.insert(sll2.end(), raw.begin(), raw.end());
  CaptureFile file(
      "links.pcapng",
      {{1, 0, ""}, {101, 0, ""}, {228, 0, ""}, {113, 0, ""}, {276, 0, ""}, {127, 0, ""}});
  file.add(0, ethernet, 0, 0).add(1, raw, 0, 1).add(2, raw, 0, 2).add(3, sll, 0, 3);
  file.add(4, sll2, 0, 4).add(5, ethernet, 0, 5);  // 127: 802.11 with a radio header, not ours
  const FileVerdict v = verify_file(file.path());
  EXPECT_EQ(v.frames, 6u);
  EXPECT_EQ(v.icrc_ok, 5u);
  ASSERT_EQ(v.unopened.size(), 1u);
  EXPECT_EQ(v.unopened.begin()->second, 1u);
}

TEST(Verify, DamageComesAfterWhatCouldBeRead) {
  const auto frames = real_frames("uc_send_write.pcap");
  CaptureFile file("cut.pcapng");
  file.add(0, frames[0].bytes).add(1, frames[1].bytes);
  const std::string path = file.path();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  const FileVerdict v = verify_file(path);
  EXPECT_EQ(v.frames, 1u);
  EXPECT_EQ(v.icrc_ok, 1u);
  ASSERT_TRUE(v.damage);
  EXPECT_THAT(v.damage->message, testing::HasSubstr("offset"));
}

}  // namespace
}  // namespace lw::dissect::test

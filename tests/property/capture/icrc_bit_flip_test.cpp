// SPDX-License-Identifier: BSD-3-Clause
// Each single bit of real frames, flipped.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "property/capture/bit_map.h"
#include "roce/envelope.h"
#include "support/captures.h"

namespace lw::test {
namespace {

using roce::IcrcVerdict;

IcrcVerdict verdict_of(std::span<const std::byte> frame) {
  return roce::check_icrc(roce::open_envelope(frame));
}

bool is_right(BitClass kind, IcrcVerdict verdict) {
  switch (kind) {
    case BitClass::outside:
    case BitClass::masked:
      return verdict == IcrcVerdict::ok;
    case BitClass::covered:
      return verdict == IcrcVerdict::bad;
    case BitClass::identity:
      return verdict == IcrcVerdict::not_roce || verdict == IcrcVerdict::unverifiable;
  }
  return false;
}

/// Flips every bit of a frame in turn; says where the verdict isn't what the map foretells.
void flip_every_bit(const CapturedFrame& frame) {
  SCOPED_TRACE(frame.file + " frame " + std::to_string(frame.number));
  const BitMap map(frame.bytes);
  std::vector<std::byte> bytes = frame.bytes;
  ASSERT_EQ(verdict_of(bytes), IcrcVerdict::ok);
  for (std::size_t bit = 0; bit < map.bits(); ++bit) {
    const auto mask = static_cast<std::byte>(0x80 >> bit % 8);
    bytes[bit / 8] ^= mask;
    const IcrcVerdict verdict = verdict_of(bytes);
    bytes[bit / 8] ^= mask;
    ASSERT_TRUE(is_right(map[bit], verdict))
        << "byte " << bit / 8 << " bit " << 7 - bit % 8 << ": class " << static_cast<int>(map[bit])
        << ", verdict " << static_cast<int>(verdict);
  }
}

/// Two frames of each opcode of each capture, the shortest and the longest.
std::vector<CapturedFrame> sample(const std::vector<std::filesystem::path>& files) {
  std::vector<CapturedFrame> chosen;
  for (const auto& file : files) {
    std::map<unsigned, std::pair<CapturedFrame, CapturedFrame>> extremes;
    for (const CapturedFrame& frame : frames_of(file)) {
      const auto envelope = roce::open_envelope(frame.bytes);
      if (!envelope.is_roce()) continue;
      const auto opcode = std::to_integer<unsigned>(frame.bytes[envelope.bth_offset()]);
      auto& [shortest, longest] = extremes.try_emplace(opcode, frame, frame).first->second;
      if (frame.bytes.size() < shortest.bytes.size()) shortest = frame;
      if (frame.bytes.size() > longest.bytes.size()) longest = frame;
    }
    for (auto& [opcode, pair] : extremes) {
      if (pair.first.number != pair.second.number) chosen.push_back(pair.second);
      chosen.push_back(pair.first);
    }
  }
  return chosen;
}

TEST(IcrcBitFlip, OverOurCaptures) {
  const auto frames = sample(own_captures());
  ASSERT_EQ(frames.size(), 155u);
  for (const CapturedFrame& frame : frames) flip_every_bit(frame);
}

TEST(IcrcBitFlip, OverFurtherCaptures) {
  for (const CapturedFrame& frame : sample(further_captures())) flip_every_bit(frame);
}

/// The printed RoCEv1 frame of a Mellanox NIC (REFERENCE 1), behind made-up Ethernet addresses.
TEST(IcrcBitFlip, OverTheRoceV1Vector) {
  const unsigned char bytes[] = {
      2,    0,    0,    0,    0,    1,    2,    0,    0,    0,   0,    2,    0x89, 0x15,         //
      0x60, 0,    0,    0,    0,    56,   27,   64,                                              //
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,   0xff, 0xff, 10,   1,    2, 1,   //
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,   0xff, 0xff, 10,   1,    2, 2,   //
      0x0a, 0x70, 0xff, 0xff, 0,    0,    0x09, 0x32, 0x80, 0,   0,    1,                        //
      0,    0,    0,    0,    0x01, 0x95, 0xe3, 0xc0, 0,    2,   0xb7, 0x5d, 0,    0,    0, 21,  //
      'R',  'D',  'M',  'A',  ' ',  'w',  'r',  'i',  't',  'e', ' ',                            //
      'o',  'p',  'e',  'r',  'a',  't',  'i',  'o',  'n',  0,   0,    0,    0,                  //
      0xdd, 0x49, 0x2f, 0x73};
  const auto view = std::as_bytes(std::span(bytes));
  flip_every_bit({"vector", 1, {view.begin(), view.end()}, view.size()});
}

/// "Verify finds every ICRC of every capture right."
std::size_t expect_all_right(const std::vector<std::filesystem::path>& files) {
  std::size_t checked = 0;
  for (const auto& file : files) {
    for (const CapturedFrame& frame : frames_of(file)) {
      const IcrcVerdict verdict = verdict_of(frame.bytes);
      if (verdict == IcrcVerdict::not_roce) continue;
      ++checked;
      EXPECT_EQ(verdict, IcrcVerdict::ok) << frame.file << " frame " << frame.number;
    }
  }
  return checked;
}

TEST(EveryIcrc, IsRight) {
  EXPECT_EQ(expect_all_right(own_captures()), 3681u);
  expect_all_right(further_captures());
}

}  // namespace
}  // namespace lw::test

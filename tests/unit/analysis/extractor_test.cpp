// SPDX-License-Identifier: BSD-3-Clause
// Where the data of packets belongs: a model of memory, and the bounds of what waits.
#include "analysis/extraction/extractor.h"

#include <algorithm>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::analysis::extractor_test {
namespace {

using testing::ElementsAre;
using Image = std::map<std::uint64_t, std::byte>;

constexpr std::uint8_t kSendFirst = 0, kSendMiddle = 1, kSendLast = 2, kSendOnly = 4;
constexpr std::uint8_t kWriteFirst = 6, kWriteMiddle = 7, kWriteLast = 8, kWriteOnly = 10;
constexpr std::uint32_t kMtu = 256;

/// Images as maps of bytes.
class Kept final : public DataSink {
 public:
  bool place(std::uint32_t image, std::uint64_t position,
             std::span<const std::byte> bytes) override {
    for (const std::byte one : bytes) images[image][position++] = one;
    return !full;
  }
  void completed(const DataMessage& message) override { messages.push_back(message); }

  std::map<std::uint32_t, Image> images;
  std::vector<DataMessage> messages;
  bool full = false;
};

struct Sent {
  CapturedPacket packet;
  std::vector<std::byte> bytes;
};

Sent sent(std::uint8_t opcode, std::uint32_t psn, std::vector<std::byte> bytes) {
  Sent made{.packet = {}, .bytes = std::move(bytes)};
  made.packet.info = wire::find_opcode(opcode);
  made.packet.psn = psn & wire::Psn::kMask;
  made.packet.payload = static_cast<std::uint32_t>(made.bytes.size());
  return made;
}

std::vector<std::byte> filled(std::size_t length, int value) {
  return std::vector<std::byte>(length, static_cast<std::byte>(value));
}

/// The packets of a WRITE of `length` bytes of one value.
std::vector<Sent> write(std::uint32_t psn, std::uint64_t va, std::size_t length, int value) {
  std::vector<Sent> packets;
  for (std::size_t at = 0; at < length; at += kMtu) {
    const bool last = at + kMtu >= length;
    std::uint8_t opcode = last ? kWriteLast : kWriteMiddle;
    if (at == 0) opcode = last ? kWriteOnly : kWriteFirst;
    packets.push_back(sent(opcode, psn++, filled(std::min<std::size_t>(kMtu, length - at), value)));
  }
  CapturedPacket& first = packets.front().packet;
  first.has_reth = true;
  first.va = va;
  first.dma_length = static_cast<std::uint32_t>(length);
  return packets;
}

class Lab : public testing::Test {
 protected:
  void take(const Sent& one, std::uint32_t session = 1) {
    CapturedPacket packet = one.packet;
    packet.number = ++number_;
    extractor.add(
        {.packet = packet, .bytes = one.bytes, .session = session, .first_psn = packet.psn});
  }
  [[nodiscard]] UnplacedPackets unplaced(Unplaced reason) const {
    const auto left = extractor.leftovers().find({1, 0});
    if (left == extractor.leftovers().end()) return {};
    return left->second.unplaced[static_cast<std::size_t>(reason)];
  }

  Kept kept;
  Extractor extractor{DataChoice{}, kept};

 private:
  std::uint64_t number_ = 0;
};

using ExtractorOfData = Lab;

TEST(ExtractorOfWrites, LeavesWhatTheHighestPsnWrote) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Kept kept;
    Extractor extractor{DataChoice{}, kept};
    Image truth;
    std::vector<Sent> packets;
    auto psn = static_cast<std::uint32_t>(random());
    const std::uint32_t first_psn = psn;
    for (int i = 1; i <= 30; ++i) {
      const std::size_t length = 1 + random() % 1000;
      const std::uint64_t va = std::uint64_t{0} - 4096 + random() % (4096 - length);
      for (const Sent& one : write(psn, va, length, i)) packets.push_back(one);
      for (std::size_t at = 0; at < length; ++at) truth[va + at] = static_cast<std::byte>(i);
      psn = first_psn + static_cast<std::uint32_t>(packets.size());
    }
    // Each packet up to three times, each up to 40 places too late.
    std::vector<std::pair<std::size_t, const Sent*>> order;
    for (std::size_t i = 0; i < packets.size(); ++i)
      for (std::size_t copy = 0; copy <= random() % 3; ++copy)
        order.emplace_back(i + random() % 40, &packets[i]);
    std::ranges::stable_sort(order, {}, &std::pair<std::size_t, const Sent*>::first);
    std::uint64_t number = 0;
    for (const auto& [place, one] : order) {
      CapturedPacket packet = one->packet;
      packet.number = ++number;
      extractor.add({.packet = packet,
                     .bytes = one->bytes,
                     .session = 1,
                     .first_psn = first_psn & wire::Psn::kMask});
    }
    extractor.finish();
    EXPECT_EQ(kept.images[0], truth) << "seed " << seed;
    EXPECT_TRUE(extractor.leftovers().empty()) << "seed " << seed;
    EXPECT_EQ(extractor.images()[0].packets, packets.size());
    EXPECT_EQ(extractor.images()[0].repeated, order.size() - packets.size());
  }
}

TEST_F(ExtractorOfData, MemoryIsSharedByConnections) {
  take(write(5, 0x1000, 8, 1).front(), 1);
  take(write(900, 0x1004, 8, 2).front(), 2);
  take(write(6, 0x100a, 4, 3).front(), 1);
  extractor.finish();
  ASSERT_EQ(extractor.images().size(), 1u);
  EXPECT_THAT(extractor.images()[0].sessions, ElementsAre(1, 2));
  EXPECT_EQ(kept.images[0][0x1003], std::byte{1});
  EXPECT_EQ(kept.images[0][0x1004], std::byte{2});
  EXPECT_EQ(kept.images[0][0x100a], std::byte{3});
}

TEST_F(ExtractorOfData, PsnsThatAreUsedAgainAreAnotherRequest) {
  take(write(5, 0x1000, 8, 1).front());
  take(write(6, 0x2000, 8, 2).front());
  take(write(5, 0x3000, 8, 3).front());
  extractor.finish();
  EXPECT_EQ(kept.images[0][0x1000], std::byte{1});
  EXPECT_EQ(kept.images[0][0x3000], std::byte{3});
  EXPECT_EQ(kept.messages.size(), 3u);
}

TEST_F(ExtractorOfData, WritesPastTheirLengthAreMalformed) {
  auto packets = write(5, 0x1000, 600, 1);
  packets[0].packet.dma_length = 300;
  for (const Sent& one : packets) take(one);
  extractor.finish();
  EXPECT_EQ(kept.images[0].size(), 300u);
  EXPECT_EQ(unplaced(Unplaced::malformed).bytes, 256u - 44u);
  EXPECT_EQ(unplaced(Unplaced::no_address).bytes, 600u - 512u) << "of no message";
}

TEST_F(ExtractorOfData, PacketsWithoutAFirstOneWaitForIt) {
  const auto packets = write(100, 0x1000, 80 * kMtu, 1);
  for (std::size_t i = 1; i < packets.size(); ++i) take(packets[i]);
  EXPECT_EQ(unplaced(Unplaced::no_address).packets, 79u - 64u) << "64 wait";
  take(packets[0]);
  extractor.finish();
  EXPECT_EQ(kept.images[0].size(), 65u * kMtu);
  EXPECT_EQ(unplaced(Unplaced::no_address).packets, 79u - 64u);
}

TEST_F(ExtractorOfData, AGapOfAStreamIsPassedWhenTooMuchWaits) {
  constexpr std::uint32_t kSmall = 16;  // MTU
  take(sent(kSendFirst, 10, filled(kSmall, 1)));
  for (std::uint32_t i = 0; i < RequestOrder::kMostWaiting; ++i)
    take(sent(kSendMiddle, 13 + i, filled(kSmall, 2)));
  EXPECT_EQ(kept.images[0].size(), kSmall) << "all wait";
  take(sent(kSendMiddle, 13 + RequestOrder::kMostWaiting, filled(kSmall, 2)));
  EXPECT_EQ(kept.images[0].size(), (RequestOrder::kMostWaiting + 2) * kSmall);
  EXPECT_EQ(extractor.leftovers().at({1, 0}).missing.count(), 2u);
  // One of the two comes after all, then again.
  take(sent(kSendMiddle, 12, filled(kSmall, 3)));
  take(sent(kSendMiddle, 12, filled(kSmall, 3)));
  take(sent(kSendLast, 14 + RequestOrder::kMostWaiting, filled(5, 4)));
  extractor.finish();
  EXPECT_EQ(kept.images[0].count(kSmall), 0u);
  EXPECT_EQ(kept.images[0][2 * kSmall], std::byte{3});
  EXPECT_EQ(kept.images[0][3 * kSmall], std::byte{2});
  EXPECT_EQ(extractor.leftovers().at({1, 0}).missing.count(), 1u);
  EXPECT_EQ(extractor.images()[0].repeated, 1u);
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_TRUE(kept.messages[0].partial);
}

TEST_F(ExtractorOfData, LateSendsWithoutAPlaceAreCounted) {
  take(sent(kSendOnly, 10, filled(4, 1)));
  for (std::uint32_t i = 0; i <= RequestOrder::kMostWaiting; ++i)
    take(sent(kSendOnly, 12 + i, filled(4, 2)));
  take(sent(kSendOnly, 11, filled(4, 3)));
  extractor.finish();
  EXPECT_EQ(unplaced(Unplaced::late).packets, 1u);
  EXPECT_EQ(kept.images[0].size(), 4 * (RequestOrder::kMostWaiting + 2));
}

TEST_F(ExtractorOfData, WhatASinkRefusesIsCounted) {
  kept.full = true;
  take(write(5, 0x1000, 8, 1).front());
  take(sent(kSendOnly, 6, filled(4, 1)));
  extractor.finish();
  EXPECT_EQ(unplaced(Unplaced::no_room).packets, 2u);
  EXPECT_EQ(unplaced(Unplaced::no_room).bytes, 12u);
  for (const DataImage& image : extractor.images()) EXPECT_TRUE(image.written.empty());
}

}  // namespace
}  // namespace lw::analysis::extractor_test

// SPDX-License-Identifier: BSD-3-Clause
// The emitter against bytes that Linux rxe and real NICs wrote: every RoCE frame of every capture,
// taken apart into values and composed again, is the same frame, byte for byte.
#include <gtest/gtest.h>

#include "roce/compose.h"
#include "support/captures.h"
#include "support/fields_of.h"

namespace lw::roce {
namespace {

/// A UDP checksum aside: RoCEv2 senders may leave it out, and we do; the ICRC doesn't see it.
bool recomposes(const Frame& frame) {
  const auto again = compose(test::fields_of(frame), frame.payload);
  const auto original_bytes = frame.envelope.bytes.first(again.size());
  std::vector<std::byte> original(original_bytes.begin(), original_bytes.end());
  if (frame.envelope.udp) {
    auto udp = std::span{original}.subspan(frame.envelope.transport_offset);
    wire::view<wire::Udp>(udp)->checksum.set(0);
  }
  return again == original;
}

int recompose_all(const std::vector<std::filesystem::path>& files) {
  int count = 0;
  for (const auto& file : files) {
    for (const auto& captured : test::frames_of(file)) {
      const auto frame = parse(captured.bytes, captured.wire_length);
      if (!frame) continue;
      EXPECT_FALSE(frame->defect.has_value()) << captured.file << " " << captured.number;
      EXPECT_TRUE(recomposes(*frame)) << captured.file << " frame " << captured.number;
      ++count;
    }
  }
  return count;
}

TEST(Compose, GivesBackEveryFrame) {
  EXPECT_EQ(recompose_all(test::own_captures()), 3681);
  recompose_all(test::further_captures());
}

}  // namespace
}  // namespace lw::roce

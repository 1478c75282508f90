// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recorder.h"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "core/chance.h"
#include "impair/record/comments.h"

namespace lw::impair {
namespace recorder_test {

std::vector<std::byte> frame_of(std::uint32_t number) {
  std::vector<std::byte> bytes(20 + number * 7919 % 1400, static_cast<std::byte>(number));
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(number >> 8 * i);
  return bytes;
}

std::uint32_t number_of(const std::vector<std::byte>& bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= std::to_integer<std::uint32_t>(bytes[i]) << 8 * i;
  return number;
}

/// Removes the next frame from the ring.
CaptureRecord pop_frame(Recorder& recorder, std::vector<std::byte>& bytes) {
  const Recorder::Sight sight = recorder.next();
  bytes.clear();
  for (const auto part : sight.bytes) bytes.insert(bytes.end(), part.begin(), part.end());
  recorder.give_back();
  return sight.record;
}

emulator::LedgerRecord numbered(std::uint64_t number) {
  emulator::LedgerRecord record;
  record.number = number;
  return record;
}

void record(Recorder& recorder, std::uint32_t number, bool out) {
  const auto bytes = frame_of(number);
  recorder.stage(bytes, static_cast<std::uint32_t>(bytes.size()));
  recorder.say(0, instant_from_ns(number), out, numbered(number));
  recorder.publish(1, out);
}

TEST(Recorder, FramesComeOutAsTheyWentInAcrossTheRingsEnd) {
  Recorder recorder(emulator::Direction::west_to_east, 0, 4096);
  std::vector<std::byte> bytes;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ASSERT_FALSE(recorder.front());
    record(recorder, i, i % 2 == 1);
    ASSERT_EQ(recorder.front(), instant_from_ns(i));
    const CaptureRecord record = pop_frame(recorder, bytes);
    ASSERT_EQ(bytes, frame_of(i));
    ASSERT_EQ(record.ledger.number, i);
    ASSERT_EQ(record.out, i % 2 == 1);
    ASSERT_EQ(record.wire_length, bytes.size());
  }
}

TEST(Recorder, OfWhatWasStagedOnlyThePublishedIsThere) {
  Recorder recorder(emulator::Direction::west_to_east, 0, 1 << 16);
  for (std::uint32_t i = 0; i < 5; ++i) recorder.stage(frame_of(i), 1);
  for (std::size_t i = 0; i < 5; ++i) recorder.say(i, {}, true, numbered(i));
  recorder.publish(2, true);
  record(recorder, 9, true);
  std::vector<std::byte> bytes;
  for (const std::uint32_t number : {0U, 1U, 9U}) {
    ASSERT_TRUE(recorder.front());
    EXPECT_EQ(pop_frame(recorder, bytes).ledger.number, number);
    EXPECT_EQ(number_of(bytes), number);
  }
  EXPECT_FALSE(recorder.front());
}

TEST(Recorder, BytesStayUntilTheyAreGivenBack) {
  Recorder recorder(emulator::Direction::west_to_east, 0, 4096);
  for (std::uint32_t i = 0; i < 100; ++i) record(recorder, i, false);  // until it is full
  std::vector<std::pair<std::uint64_t, capture::Writer::Parts>> sights;
  while (recorder.front()) {
    const Recorder::Sight sight = recorder.next();
    sights.emplace_back(sight.record.ledger.number, sight.bytes);
  }
  const std::uint64_t skipped = recorder.skipped(false);
  record(recorder, 1, false);
  EXPECT_EQ(recorder.skipped(false), skipped + 1) << "nothing was given back";
  for (const auto& [number, bytes] : sights) {
    const auto frame = frame_of(static_cast<std::uint32_t>(number));
    const auto& [first, second] = bytes;
    ASSERT_EQ(first.size() + second.size(), frame.size());
    EXPECT_TRUE(std::ranges::equal(first, std::span(frame).first(first.size())));
    EXPECT_TRUE(std::ranges::equal(second, std::span(frame).last(second.size())));
  }
  recorder.give_back();
  record(recorder, 2, false);
  EXPECT_TRUE(recorder.front());
}

TEST(Recorder, LongFramesAreCutWhereAsked) {
  Recorder recorder(emulator::Direction::west_to_east, 64, 1 << 16);
  record(recorder, 1000, false);
  std::vector<std::byte> bytes;
  ASSERT_TRUE(recorder.front());
  const CaptureRecord record = pop_frame(recorder, bytes);
  EXPECT_EQ(bytes.size(), 64U);
  EXPECT_EQ(record.wire_length, frame_of(1000).size());
}

TEST(Recorder, WithoutRoomFramesAreSkippedAndCounted) {
  Recorder recorder(emulator::Direction::west_to_east, 0, 4096);
  for (std::uint32_t i = 0; i < 100; ++i) record(recorder, i, i % 2 == 1);
  std::vector<std::byte> bytes;
  std::uint64_t there = 0;
  for (; recorder.front(); ++there) {
    const CaptureRecord record = pop_frame(recorder, bytes);
    EXPECT_EQ(bytes, frame_of(static_cast<std::uint32_t>(record.ledger.number)));
  }
  EXPECT_GT(there, 2U);
  EXPECT_EQ(there + recorder.skipped(false) + recorder.skipped(true), 100U);
  record(recorder, 7, false);
  EXPECT_TRUE(recorder.front()) << "there is room again";
}

TEST(Recorder, AnotherThreadTakesThemInOrder) {
  Recorder recorder(emulator::Direction::west_to_east, 0, 1 << 15);
  constexpr std::uint32_t kFrames = 20'000;
  std::jthread writer([&] {
    for (std::uint32_t i = 0; i < kFrames; ++i) record(recorder, i, false);
    recorder.stage({}, 0);
    recorder.say(0, instant_from_ns(kFrames), false, numbered(kFrames));
    recorder.publish(1, false);
  });
  std::vector<std::byte> bytes;
  std::uint64_t seen = 0, next = 0;
  while (next <= kFrames && (writer.joinable() || recorder.front())) {
    if (!recorder.front()) {
      if (seen + recorder.skipped(false) == kFrames + 1) break;
      std::this_thread::yield();
      continue;
    }
    const CaptureRecord record = pop_frame(recorder, bytes);
    ASSERT_GE(record.ledger.number, next);
    next = record.ledger.number + 1;
    if (record.length > 0) {
      ASSERT_EQ(number_of(bytes), record.ledger.number);
    }
    ++seen;
  }
  EXPECT_EQ(seen + recorder.skipped(false), kFrames + 1);
}

TEST(CaptureRecord, ACommentNamesAllStagesThatActed) {
  const RuleNames rules{{{"long haul"}, {"back"}}};
  emulator::LedgerRecord record;
  record.number = 7;
  record.rule = 0;
  record.acted.add(emulator::Stage::delay);
  record.stage = emulator::Stage::delay;
  record.disposition = emulator::Disposition::delayed;
  EXPECT_EQ(comment_of(record, rules), "delay; frame 7; rule long haul; stage delay");
  record.acted.add(emulator::Stage::corrupt);
  record.acted.add(emulator::Stage::mark);
  record.copy = 2;
  EXPECT_EQ(comment_of(record, rules),
            "delay; frame 7, copy 2; rule long haul; stages corrupt, mark, delay");
}

TEST(Comments, AreThoseOfEachRecordWhateverCameBefore) {
  const RuleNames rules{{{"long haul", "b"}, {"back"}}}, later{{{"other", "b"}, {"back"}}};
  Comments comments(rules);
  std::uint64_t draw = 1;
  const auto next = [&draw](std::uint64_t below) {
    draw = draw * 6364136223846793005 + 1442695040888963407;  // Knuth, MMIX
    return (draw >> 33) % below;
  };
  for (int i = 0; i < 20'000; ++i) {
    if (i == 10'000) comments.learn(later);
    emulator::LedgerRecord record;
    record.number = draw;
    record.rule = static_cast<emulator::RuleIndex>(next(4));
    record.direction = static_cast<emulator::Direction>(next(2));
    for (std::uint64_t stages = next(3); stages > 0; --stages)
      record.acted.add(static_cast<emulator::Stage>(1 + next(8)));
    record.stage = record.acted.last();
    record.copy = static_cast<std::uint8_t>(next(3));
    record.disposition = static_cast<emulator::Disposition>(next(5));
    record.aimed = static_cast<emulator::EventAction>(next(3));
    ASSERT_EQ(comments.of(record), comment_of(record, i < 10'000 ? rules : later)) << i;
  }
}

}  // namespace recorder_test
}  // namespace lw::impair

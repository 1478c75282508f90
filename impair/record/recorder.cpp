// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/figure.h"

namespace lw::impair {

emulator::LedgerRecord record_of(const emulator::Transit& transit, std::uint64_t number,
                                 emulator::Direction direction) noexcept {
  emulator::LedgerRecord record;
  record.number = number;
  record.in = transit.in();
  record.rule = transit.rule_index();
  record.direction = direction;
  record.acted = emulator::StageSet::of(transit.acted);
  record.stage = record.acted.last();
  if (record.stage == emulator::Stage::none && transit.queued)
    record.stage = emulator::Stage::delay;
  record.copy = static_cast<std::uint8_t>(transit.copy);
  record.disposition =
      transit.queued ? emulator::Disposition::delayed : emulator::Disposition::passed;
  record.aimed = static_cast<emulator::EventAction>(transit.aimed);
  return record;
}

std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules) {
  const auto& names = rules[static_cast<std::size_t>(record.direction)];
  std::string text = fmt::format("{}; frame {}", record.action(), record.number);
  if (record.copy > 0) text += fmt::format(", copy {}", record.copy);
  if (record.rule < names.size()) text += fmt::format("; rule {}", names[record.rule]);
  if (record.acted.several()) {
    text += fmt::format("; stages {}", fmt::join(names_of(record.acted), ", "));
  } else if (record.stage != emulator::Stage::none) {
    text += fmt::format("; stage {}", name_of(record.stage));
  }
  return text;
}

static_assert(std::is_trivially_copyable_v<CaptureRecord>);

Recorder::Recorder(emulator::Direction direction, std::uint32_t most_bytes, std::size_t room)
    : direction_(direction),
      most_bytes_(most_bytes > 0 ? most_bytes : UINT32_MAX),
      ring_(std::bit_ceil(room)) {}

void Recorder::copy_in(std::size_t at, const void* from, std::size_t count) noexcept {
  if (count == 0) return;  // an empty frame has no bytes to point at
  const std::size_t start = at & (ring_.size() - 1);
  const std::size_t first = std::min(count, ring_.size() - start);
  std::memcpy(ring_.data() + start, from, first);
  std::memcpy(ring_.data(), static_cast<const std::byte*>(from) + first, count - first);
}

void Recorder::copy_out(std::size_t at, void* to, std::size_t count) const noexcept {
  if (count == 0) return;
  const std::size_t start = at & (ring_.size() - 1);
  const std::size_t first = std::min(count, ring_.size() - start);
  std::memcpy(to, ring_.data() + start, first);
  std::memcpy(static_cast<std::byte*>(to) + first, ring_.data(), count - first);
}

void Recorder::stage(std::span<const std::byte> bytes, std::uint32_t wire_length) noexcept {
  Staged& staged = staged_[staged_count_++];
  const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), most_bytes_));
  const std::size_t needed = sizeof(CaptureRecord) + length;
  staged = {end_, length, wire_length,
            end_ + needed - taken_.load(std::memory_order_acquire) <= ring_.size()};
  if (!staged.room) return;
  copy_in(end_ + sizeof(CaptureRecord), bytes.data(), length);
  end_ += needed;
}

void Recorder::say(std::size_t i, Instant at, bool out,
                   const emulator::LedgerRecord& record) noexcept {
  const Staged& staged = staged_[i];
  if (!staged.room) return;
  const CaptureRecord captured{at, staged.length, staged.wire_length, out, record};
  copy_in(staged.at, &captured, sizeof captured);
}

void Recorder::publish(std::size_t count, bool out) noexcept {
  if (count < staged_count_) end_ = staged_[count].at;
  for (std::size_t i = 0; i < count; ++i)
    if (!staged_[i].room) skipped_[out].add();
  staged_count_ = 0;
  written_.store(end_, std::memory_order_release);
}

std::optional<Instant> Recorder::front() const noexcept {
  const std::size_t taken = taken_.load(std::memory_order_relaxed);
  if (written_.load(std::memory_order_acquire) == taken) return std::nullopt;
  CaptureRecord record;
  copy_out(taken, &record, sizeof record);
  return record.at;
}

CaptureRecord Recorder::take(std::vector<std::byte>& bytes) {
  const std::size_t taken = taken_.load(std::memory_order_relaxed);
  CaptureRecord record;
  copy_out(taken, &record, sizeof record);
  bytes.resize(record.length);
  copy_out(taken + sizeof record, bytes.data(), record.length);
  taken_.store(taken + sizeof record + record.length, std::memory_order_release);
  return record;
}

const FigureTable& CaptureReport::figures() {
  using Row = FigureOf<CaptureReport>;
  static constexpr Figure kRows[] = {
      Row::of<&CaptureReport::file>("file", "Path of the file."),
      Row::of<&CaptureReport::frames>("frames", "Frames written.", Unit::frames),
      Row::of<&CaptureReport::skipped>("skipped", "Frames skipped, as the writer was behind.",
                                       Unit::frames),
      Row::of<&CaptureReport::missing>("missing", "Frames that the file lacks.", Unit::frames),
      Row::of<&CaptureReport::left_out>(
          "left_out", "Sent frames that were received before the recording began.", Unit::frames)
          .if_any(),
      Row::of<&CaptureReport::active>("active", "True while frames go into it.")};
  static constexpr FigureTable kTable{"A recording of both sides of the box.", kRows};
  return kTable;
}

}  // namespace lw::impair

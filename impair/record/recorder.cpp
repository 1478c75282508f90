// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/figure.h"
#include "core/wide_registers.h"

namespace lw::impair {

static_assert(std::is_trivially_copyable_v<CaptureRecord>);

Recorder::Recorder(emulator::Direction direction, std::uint32_t most_bytes, std::size_t room)
    : direction_(direction),
      most_bytes_(most_bytes > 0 ? most_bytes : UINT32_MAX),
      records_(std::bit_ceil(room) / kBytesForARecord),
      bytes_(std::bit_ceil(room)) {}

std::array<std::span<std::byte>, 2> Recorder::places(std::size_t at,
                                                     std::size_t count) const noexcept {
  const std::span all(bytes_.data(), bytes_.size());
  const std::size_t start = at & (all.size() - 1);
  const std::size_t first = std::min(count, all.size() - start);
  return {all.subspan(start, first), all.first(count - first)};
}

/// Whether a frame of `length` bytes fits behind the staged ones.
bool Recorder::has_room(std::size_t length) noexcept {
  const auto fits = [&] {
    return end_ - taken_seen_ < records_.size() &&
           end_bytes_ + length - taken_bytes_seen_ <= bytes_.size();
  };
  if (fits()) return true;
  taken_seen_ = taken_.load(std::memory_order_acquire);
  taken_bytes_seen_ = taken_bytes_.load(std::memory_order_acquire);
  return fits();
}

void Recorder::stage(std::span<const std::byte> bytes, std::uint32_t wire_length) noexcept {
  Staged& staged = staged_[staged_count_++];
  const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), most_bytes_));
  staged = {end_, end_bytes_, length, wire_length, has_room(length)};
  if (!staged.room) return;
  ++end_;
  end_bytes_ += length;
  if (length == 0) return;  // an empty frame has no bytes to point at
  const auto [first, second] = places(staged.at, length);
  std::memcpy(first.data(), bytes.data(), first.size());
  if (!second.empty()) [[unlikely]]
    std::memcpy(second.data(), bytes.data() + first.size(), second.size());
  end_wide_registers();
}

void Recorder::say(std::size_t i, Instant at, bool out,
                   const emulator::LedgerRecord& ledger) noexcept {
  const Staged& staged = staged_[i];
  if (!staged.room) return;
  record(staged.index) = {at, staged.length, staged.wire_length, out, ledger};
}

void Recorder::publish(std::size_t count, bool out) noexcept {
  if (count < staged_count_) {
    end_ = staged_[count].index;
    end_bytes_ = staged_[count].at;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!staged_[i].room) skipped_[out].add();
  staged_count_ = 0;
  written_.store(end_, std::memory_order_release);
}

std::optional<Instant> Recorder::front() noexcept {
  if (read_ == written_seen_) written_seen_ = written_.load(std::memory_order_acquire);
  if (read_ == written_seen_) return std::nullopt;
  return record(read_).at;
}

Recorder::Sight Recorder::next() noexcept {
  const CaptureRecord& next = record(read_++);
  const auto [first, second] = places(read_bytes_, next.length);
  read_bytes_ += next.length;
  return {next, {first, second}};
}

const FigureTable& RecordedInterface::figures() {
  using Row = FigureOf<RecordedInterface>;
  static constexpr Figure kRows[] = {
      Row::of<&RecordedInterface::name>("name", "Name of the interface in the file."),
      Row::of<&RecordedInterface::frames>("frames", "Frames written.", Unit::frames),
      Row::of<&RecordedInterface::skipped>("skipped", "Frames skipped, as the writer was behind.",
                                           Unit::frames),
      Row::of<&RecordedInterface::lost>("lost", "Frames lost, as a write failed.", Unit::frames)};
  static constexpr FigureTable kTable{"Frames of one interface of a recording.", kRows};
  return kTable;
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
      Row::of<&CaptureReport::files>("files", "Files so far, removed ones included."),
      Row::of<&CaptureReport::removed>("removed",
                                       "Frames in files that were removed, as newer ones "
                                       "took their place.",
                                       Unit::frames)
          .if_any(),
      Row::of<&CaptureReport::interfaces>("interfaces", "Frames of each interface.").if_any(),
      Row::of<&CaptureReport::active>("active", "True while frames go into it.")};
  static constexpr FigureTable kTable{"A recording of both sides of the box.", kRows};
  return kTable;
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/more_room.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "core/huge_pages.h"
#include "core/quantity.h"
#include "emulator/pipeline.h"
#include "impair/datapath/configuration.h"
#include "nic/clock.h"

namespace lw::impair {
namespace {

std::uint64_t arena_bytes(std::uint64_t frames, const config::Capacity& capacity) noexcept {
  return nic::FrameArena::bytes_for(frames, capacity.smallest_frame, capacity.largest_frame);
}

Result<std::unique_ptr<nic::FrameArena>> make_arena(std::uint64_t bytes) {
  static std::atomic<unsigned> made{0};
  auto arena = nic::FrameArena::create(fmt::format("more{}", made.fetch_add(1)), bytes, false);
  if (!arena) return std::unexpected(arena.error());
  return std::make_unique<nic::FrameArena>(std::move(*arena));
}

}  // namespace

const FigureTable& RoomReport::figures() {
  using Row = FigureOf<RoomReport>;
  static constexpr Figure kRows[] = {
      Row::of<&RoomReport::frames_per_direction>(
          "frames_per_direction", "Frames that can then wait in each direction.", Unit::frames),
      Row::of<&RoomReport::bytes>("bytes", "Size of the new memory.", Unit::bytes),
      Row::of<&RoomReport::took>(
          "took_ns", "How long it took to prepare it, or, of `preview`, would take.", Unit::ns)};
  static constexpr FigureTable kTable{
      "Memory for more frames in flight, which the change needs; it is prepared first.", kRows};
  return kTable;
}

std::uint64_t bytes_of_room(std::uint64_t frames, const config::Capacity& capacity) noexcept {
  return 2 * (arena_bytes(frames, capacity) +
              emulator::ReleaseQueue<rte_mbuf*, MbufAccess>::bytes_needed(
                  emulator::Pipeline::kMostFifos, frames));
}

Result<void> check_memory_for(std::uint64_t frames, const config::Capacity& capacity) {
  const std::uint64_t bytes = bytes_of_room(frames, capacity), available = available_memory();
  if (available == 0 || bytes <= available / 2) return {};
  return fail(fmt::format("not enough memory: these delays need room for {} frames each way, which "
                          "take {}; a change may take half of the {} that are available",
                          frames, format_bytes(static_cast<double>(bytes)),
                          format_bytes(static_cast<double>(available))),
              ExitCode::environment);
}

Result<MoreRoom> make_room(const PortForwarder& forwarder, std::uint64_t frames,
                           const config::Capacity& capacity) {
  if (auto enough = check_memory_for(frames, capacity); !enough)
    return std::unexpected(enough.error());
  const Instant begin = nic::now();
  const auto link = [&](emulator::Direction direction) {
    return forwarder.link(direction).room_for(frames);
  };
  MoreRoom room{
      .report = {.frames_per_direction = frames, .bytes = bytes_of_room(frames, capacity)},
      .links = {link(emulator::Direction::west_to_east), link(emulator::Direction::east_to_west)},
      .arenas = {}};
  for (auto& arena : room.arenas) {
    auto made = make_arena(arena_bytes(frames, capacity));
    if (!made) return std::unexpected(made.error());
    arena = std::move(*made);
  }
  room.report.took = nic::now() - begin;
  return room;
}

RoomReport estimate_room(std::uint64_t frames, const config::Capacity& capacity) {
  constexpr std::size_t kPart = std::size_t{16} << 20;
  const std::uint64_t bytes = bytes_of_room(frames, capacity);
  const Instant begin = nic::now();
  {
    const HugeArray<std::uint64_t> part(kPart / sizeof(std::uint64_t));
  }
  const double share = static_cast<double>(bytes) / kPart;
  const auto took = static_cast<double>((nic::now() - begin).count()) * share;
  return {.frames_per_direction = frames,
          .bytes = bytes,
          .took = Duration{static_cast<Duration::rep>(took)}};
}

}  // namespace lw::impair

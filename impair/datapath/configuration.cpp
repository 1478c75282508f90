// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/configuration.h"

#include <algorithm>
#include <bit>
#include <fstream>

#include <fmt/format.h>

#include "core/quantity.h"
#include "emulator/path.h"
#include "impair/datapath/port_io.h"
#include "nic/frame_arena.h"
#include "nic/pool.h"

namespace lw::impair {

using emulator::Direction;

emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, Direction direction,
                               std::span<const std::string> known,
                               const std::shared_ptr<emulator::CmExchange>& exchange) {
  emulator::Pipeline pipeline(direction, profile.seed, profile.rules, profile.events, known);
  if (exchange && !profile.events.empty()) pipeline.events().join(exchange);
  return pipeline;
}

RuleNames rule_names_of(const config::ImpairProfile& profile) {
  RuleNames names;
  for (const auto direction : {Direction::west_to_east, Direction::east_to_west})
    for (const auto& rule : profile.rules)
      if (rule.applies(direction)) names[static_cast<std::size_t>(direction)].push_back(rule.name);
  return names;
}

namespace {

constexpr std::uint32_t kFcs = 4;
// Smallest capacity of a release queue, in frames. Applies also without a delay.
constexpr std::uint64_t kSmallestQueue = 1024;
// Buffers in the receive rings and send rings of two ports, and in the pool's per-core cache.
constexpr std::uint32_t kHeldByPorts = 2 * (1024 + 1024) + 512;
constexpr std::size_t kEgress = 512;
// Room for the names of rules that live changes add.
constexpr std::size_t kSpareNames = 512;

/// Computes the buffers for all frames in flight. If frames may be so small that they are copied
/// while they wait, and it takes less memory: arenas, and buffers for frames that ports and bursts
/// hold.
void size_buffers(Sizing& sizing, const config::Capacity& capacity) {
  const auto set_buffers = [&](std::uint64_t buffers) {
    sizing.buffers = static_cast<std::uint32_t>(std::min<std::uint64_t>(buffers, UINT32_MAX));
    sizing.buffer_bytes =
        nic::Pool::bytes_needed({.buffers = sizing.buffers, .frame_size = capacity.largest_frame});
  };
  const std::uint64_t waiting = emulator::frames_in_flight(capacity.rate_bps, emulator::kStoredFrom,
                                                           capacity.smallest_frame + kFcs);
  const std::uint64_t frames = sizing.frames_per_direction;
  set_buffers(2 * (frames + kEgress) + kHeldByPorts);
  if (capacity.smallest_frame > MbufAccess::kSmallFrame || waiting >= frames) return;
  const std::uint64_t arena =
      nic::FrameArena::bytes_for(frames, capacity.smallest_frame, capacity.largest_frame);
  const std::uint64_t without = sizing.buffer_bytes;
  set_buffers(2 * (waiting + kEgress) + kHeldByPorts);
  if (sizing.buffer_bytes + 2 * arena < without) {
    sizing.arena_bytes = arena;
  } else {
    set_buffers(2 * (frames + kEgress) + kHeldByPorts);
  }
}

}  // namespace

std::uint64_t stage_bytes(const config::ImpairProfile& profile) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& rule : profile.rules)
    bytes += emulator::stage_bytes(rule) * (rule.west_to_east + rule.east_to_west);
  return bytes;
}

Sizing size_for(const config::ImpairProfile& profile) {
  const auto& capacity = profile.capacity;
  const std::uint64_t in_flight =
      emulator::frames_in_flight(capacity.rate_bps, profile.longest_delay() + capacity.reserve,
                                 capacity.smallest_frame + kFcs);
  Sizing sizing;
  sizing.frames_per_direction = std::max(kSmallestQueue, in_flight + in_flight / 4);
  size_buffers(sizing, capacity);
  sizing.queue_bytes = 2 * emulator::ReleaseQueue<rte_mbuf*, MbufAccess>::bytes_needed(
                               emulator::Pipeline::kMostFifos, sizing.frames_per_direction);
  sizing.stage_bytes = stage_bytes(profile);
  return sizing;
}

emulator::LinkConfig link_config(const config::ImpairProfile& profile) {
  return {.capacity = size_for(profile).frames_per_direction,
          .egress_capacity = kEgress,
          .log_all = profile.log_all,
          .most_rules = std::min(kSpareNames + profile.rules.size(), emulator::kMostRules)};
}

std::string arithmetic(const config::ImpairProfile& profile) {
  const Sizing sizing = size_for(profile);
  const auto& capacity = profile.capacity;
  const Duration longest = profile.longest_delay(), room = longest + capacity.reserve;
  const auto bytes = [](std::uint64_t count) { return format_bytes(static_cast<double>(count)); };
  std::string delay = format_set_duration(longest);
  if (room > longest)
    delay = fmt::format("({} + {} in reserve)", delay, format_set_duration(capacity.reserve));
  const std::string arenas =
      sizing.arena_bytes == 0
          ? ""
          : fmt::format("two arenas in which frames wait {}, ", bytes(2 * sizing.arena_bytes));
  std::string text = fmt::format(
      "{} x {} = {} in flight each way; as frames of {} B, with a quarter to spare, {} frames; "
      "{} buffers for frames of up to {} B take {}, {}and two release queues {}",
      format_bit_rate(capacity.rate_bps), delay,
      format_bytes(emulator::bandwidth_delay_bytes(capacity.rate_bps, room)),
      capacity.smallest_frame, sizing.frames_per_direction, sizing.buffers, capacity.largest_frame,
      bytes(sizing.buffer_bytes), arenas, bytes(sizing.queue_bytes));
  if (sizing.stage_bytes > 0)
    text += fmt::format(", and the rules' queues {}", bytes(sizing.stage_bytes));
  return text + fmt::format(": {} in all", bytes(sizing.memory()));
}

std::unexpected<Error> not_enough_memory(const config::ImpairProfile& profile,
                                         std::uint64_t available_bytes) {
  return fail(fmt::format("not enough memory: {}; {} is available. Ask for less in the profile's "
                          "[capacity]: a lower rate, a larger smallest_frame, a smaller "
                          "largest_frame or reserve; or for a smaller buffer of a queue",
                          arithmetic(profile), format_bytes(static_cast<double>(available_bytes))),
              ExitCode::environment);
}

Result<void> check_memory(const config::ImpairProfile& profile, std::uint64_t available_bytes) {
  if (available_bytes == 0 || size_for(profile).memory() <= available_bytes) return {};
  return not_enough_memory(profile, available_bytes);
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
    file.ignore(256, '\n');
  }
  return 0;
}

}  // namespace lw::impair

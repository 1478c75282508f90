// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/profile_check.h"

#include <functional>
#include <vector>

#include "emulator/path.h"
#include "impair/report/rule_report.h"
#include "nic/packet_port.h"

namespace lw::impair {
namespace {

using config::ImpairProfile;
using emulator::Direction;

/// Devices of one kind on a path.
struct DeviceRow {
  std::string name;
  std::uint32_t count = 0;
  Duration latency{};

  static const FigureTable& figures() {
    using Row = FigureOf<DeviceRow>;
    static constexpr Figure kRows[] = {
        Row::of<&DeviceRow::name>("name", "Kind of equipment."),
        Row::of<&DeviceRow::count>("count", "Number of devices."),
        Row::of<&DeviceRow::latency>("latency_ns", "Latency of each.", Unit::ns)};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

/// One direction of a path.
struct DirectionRow {
  const emulator::Path& path;
  Direction direction;

  [[nodiscard]] std::vector<DeviceRow> equipment() const {
    std::vector<DeviceRow> rows;
    for (const auto& item : path.equipment)
      if (covers(item.ways, direction)) rows.push_back({item.name, item.count, item.latency});
    return rows;
  }
  static const FigureTable& figures() {
    using Row = FigureOf<DirectionRow>;
    static constexpr Figure kRows[] = {
        Row::of<[](const DirectionRow& d) { return length_km(d.path, d.direction); }>(
            "km", "Length of the fibre, in km."),
        Row::of<[](const DirectionRow& d) { return fibre_delay(d.path, d.direction); }>(
            "fibre_ns", "Delay of the fibre.", Unit::ns),
        Row::of<[](const DirectionRow& d) { return equipment_delay(d.path, d.direction); }>(
            "equipment_ns", "Delay of the equipment.", Unit::ns),
        Row::of<[](const DirectionRow& d) { return one_way_delay(d.path, d.direction); }>(
            "one_way_ns", "Whole delay.", Unit::ns),
        Row::of<&DirectionRow::equipment>("equipment", "The equipment.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

template <Direction kDirection>
DirectionRow direction_row(const emulator::Path& path) {
  return {path, kDirection};
}

const FigureTable& path_figures() {
  using enum Direction;
  using emulator::Path;
  using Row = FigureOf<Path>;
  static constexpr Figure kRows[] = {
      Row::of<&Path::name>("name", "Name of the path."),
      Row::of<[](const Path& path) { return round_trip(path); }>("round_trip_ns",
                                                                 "Delay there and back.", Unit::ns),
      Row::of<direction_row<west_to_east>>(name_of(west_to_east), "From west to east."),
      Row::of<direction_row<east_to_west>>(name_of(east_to_west), "From east to west.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& flight_figures() {
  using emulator::FlightLine;
  using Row = FigureOf<FlightLine>;
  static constexpr Figure kRows[] = {
      Row::of<&FlightLine::payload>("payload", "RoCE payload, in bytes; 0 for the smallest frame.",
                                    Unit::bytes),
      Row::of<&FlightLine::frame>("frame", "Frame size, in bytes, without FCS.", Unit::bytes),
      Row::of<&FlightLine::frames>("frames", "Frames in flight.", Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& memory_figures() {
  using Row = FigureOf<ProfileCheck>;
  static constexpr Figure kRows[] = {
      Row::of<[](const ProfileCheck& c) { return c.sizing.frames_per_direction; }>(
          "frames_per_direction", "Frames that can wait in each direction.", Unit::frames),
      Row::of<[](const ProfileCheck& c) { return c.sizing.buffers; }>("buffers",
                                                                      "Number of frame buffers."),
      Row::of<[](const ProfileCheck& c) { return c.profile.capacity.reserve; }>(
          "reserve_ns", "Reserve of the release queue.", Unit::ns),
      Row::of<[](const ProfileCheck& c) { return c.sizing.buffer_bytes; }>(
          "buffer_bytes", "Memory of the buffers, in bytes.", Unit::bytes),
      Row::of<[](const ProfileCheck& c) { return 2 * c.sizing.arena_bytes; }>(
          "arena_bytes", "Memory of small frames that wait, in bytes.", Unit::bytes),
      Row::of<[](const ProfileCheck& c) { return c.sizing.queue_bytes; }>(
          "release_queue_bytes", "Memory of both release queues, in bytes.", Unit::bytes),
      Row::of<[](const ProfileCheck& c) { return c.sizing.stage_bytes; }>(
          "rule_queue_bytes", "Memory of the rules' queues, in bytes.", Unit::bytes),
      Row::of<[](const ProfileCheck& c) { return c.sizing.memory(); }>(
          "bytes", "All memory, in bytes.", Unit::bytes),
      Row::of<[](const ProfileCheck& c) {
        return nic::PacketPort::ring_bytes(c.profile.capacity.largest_frame);
      }>("interface_ring_bytes", "Memory of the kernel for each Linux interface, in bytes.",
         Unit::bytes)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

double bandwidth_delay(const ProfileCheck& check) {
  return emulator::bandwidth_delay_bytes(check.profile.capacity.rate_bps,
                                         check.profile.longest_delay());
}

std::vector<emulator::FlightLine> in_flight(const ProfileCheck& check) {
  return emulator::flight_table(check.profile.capacity.rate_bps, check.profile.longest_delay());
}

}  // namespace

const FigureTable& ProfileCheck::figures() {
  using Row = FigureOf<ProfileCheck>;
  static constexpr Figure kRows[] = {
      Row::of<[](const ProfileCheck& c) { return c.profile.name; }>("profile",
                                                                    "Name of the profile."),
      Row::of<[](const ProfileCheck& c) { return c.profile.seed; }>("seed", "Random seed."),
      Row::with_table<[](const ProfileCheck& c) {
        return c.profile.path ? &*c.profile.path : nullptr;
      },
                      path_figures>("path", "The path, if the profile has one."),
      Row::of<[](const ProfileCheck& c) { return rule_rows(c.profile); }>("rules", "The rules."),
      Row::of<[](const ProfileCheck& c) { return event_rows(c.profile.events); }>(
          "events", "Events on chosen packets.")
          .if_any(),
      Row::of<[](const ProfileCheck& c) { return act_rows(c.profile); }>(
          "scenario", "Changes at given times or on command.")
          .if_any(),
      Row::of<[](const ProfileCheck& c) { return c.profile.capacity.rate_bps; }>(
          "rate_bps", "Rate of the line.", Unit::bits_per_second),
      Row::of<[](const ProfileCheck& c) { return c.profile.longest_delay(); }>(
          "delay_ns", "Longest delay.", Unit::ns),
      Row::of<bandwidth_delay>("bandwidth_delay_bytes", "Bytes in flight each way.", Unit::bytes),
      Row::list_with_table<in_flight, flight_figures>("in_flight", "Frames in flight by size.")
          .if_any(),
      Row::with_table<std::identity{}, memory_figures>("memory", "Memory that a run takes.")};
  static constexpr FigureTable kTable{"Delay, frames in flight and memory of an impair profile.",
                                      kRows};
  return kTable;
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "emulator/direction.h"

namespace lw::emulator {

/// A length of fibre. Light takes km x group index / c through it.
struct Span {
  double km = 0;
  double group_index = 1.4682;  // standard single-mode fibre (G.652) at 1550 nm
  Ways ways = Ways::both;       // fibres of the two ways may take different routes
};

/// What stands between the spans and adds a constant latency each.
struct Equipment {
  std::string name = {};
  std::uint32_t count = 1;
  Duration latency = {};  // of one
  Ways ways = Ways::both;
};

/// A path described by its parts; its delay is their sum.
struct Path {
  std::string name = {};
  std::vector<Span> spans = {};
  std::vector<Equipment> equipment = {};
  double rate_bps = 100e9;  // of the wavelength
};

double length_km(const Path& path, Direction direction) noexcept;
/// Each to the nearest nanosecond of the whole sum.
Duration fibre_delay(const Path& path, Direction direction) noexcept;
Duration equipment_delay(const Path& path, Direction direction) noexcept;
Duration one_way_delay(const Path& path, Direction direction) noexcept;
/// There and back.
Duration round_trip(const Path& path) noexcept;
/// Whether the two ways take the same time.
bool symmetric(const Path& path) noexcept;

/// Preamble, start delimiter and inter-frame gap: what a frame takes of the line beyond its bytes.
inline constexpr std::uint32_t kLineGap = 20;
/// Ethernet, IPv4, UDP, BTH, ICRC and FCS around a RoCEv2 payload.
inline constexpr std::uint32_t kRoceHeaders = 14 + 20 + 8 + 12 + 4 + 4;

/// What a line of this rate holds in one direction of this delay, bytes.
double bandwidth_delay_bytes(double rate_bps, Duration delay) noexcept;

/// How many frames that is; `frame` in bytes with FCS, as Ethernet counts (64 at least).
/// Rounded up: the number to make room for.
std::uint64_t frames_in_flight(double rate_bps, Duration delay, std::uint32_t frame) noexcept;

/// One line of the table that `check` prints.
struct FlightLine {
  std::uint32_t payload;  // of a RoCE packet; 0 stands for Ethernet's smallest frame
  std::uint32_t frame;    // bytes with FCS
  std::uint64_t frames;   // in flight, one direction
};
/// Ethernet's smallest frame, then RoCE's path MTUs, 256 to 4096.
std::vector<FlightLine> flight_table(double rate_bps, Duration delay);

}  // namespace lw::emulator

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
  Ways ways = Ways::both;       // the two directions may take fibres of different length
};

/// Equipment between the spans, with a constant latency.
struct Equipment {
  std::string name = {};
  std::uint32_t count = 1;
  Duration latency = {};  // of one device
  Ways ways = Ways::both;
};

/// A path as the list of its parts; its delay is the sum of theirs.
struct Path {
  std::string name = {};
  std::vector<Span> spans = {};
  std::vector<Equipment> equipment = {};
  double rate_bps = 100e9;  // of the wavelength
};

double length_km(const Path& path, Direction direction) noexcept;
/// Delays are summed exactly, then rounded to the nearest nanosecond.
Duration fibre_delay(const Path& path, Direction direction) noexcept;
Duration equipment_delay(const Path& path, Direction direction) noexcept;
Duration one_way_delay(const Path& path, Direction direction) noexcept;
/// Sum of both directions' delays.
Duration round_trip(const Path& path) noexcept;
/// Returns true if both directions have the same delay.
bool symmetric(const Path& path) noexcept;

/// Bytes that a frame takes on the wire besides its own: preamble, start delimiter and inter-frame
/// gap.
inline constexpr std::uint32_t kLineGap = 20;
/// Ethernet, IPv4, UDP, BTH, ICRC and FCS around a RoCEv2 payload.
inline constexpr std::uint32_t kRoceHeaders = 14 + 20 + 8 + 12 + 4 + 4;

/// Number of bytes in flight on a link of this rate in one direction of this delay.
double bandwidth_delay_bytes(double rate_bps, Duration delay) noexcept;

/// Number of frames in flight, rounded up, for sizing buffers. `frame`: frame size in bytes with
/// FCS, at least 64.
std::uint64_t frames_in_flight(double rate_bps, Duration delay, std::uint32_t frame) noexcept;

/// One line of the table that `check` prints.
struct FlightLine {
  std::uint32_t payload;  // payload of a RoCE packet in bytes; 0: Ethernet's smallest frame
  std::uint32_t frame;    // bytes with FCS
  std::uint64_t frames;   // in flight in one direction
};
/// Rows for Ethernet's smallest frame and for RoCE's path MTUs, 256 to 4096.
std::vector<FlightLine> flight_table(double rate_bps, Duration delay);

}  // namespace lw::emulator

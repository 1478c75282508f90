// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "core/time.h"

namespace lw::emulator {

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

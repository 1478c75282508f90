// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/budget.h"

#include <cmath>

namespace lw::emulator {
namespace {

constexpr std::uint32_t kSmallestFrame = 64;

double seconds(Duration delay) noexcept { return static_cast<double>(delay.count()) * 1e-9; }

}  // namespace

double bandwidth_delay_bytes(double rate_bps, Duration delay) noexcept {
  return rate_bps * seconds(delay) / 8;
}

std::uint64_t frames_in_flight(double rate_bps, Duration delay, std::uint32_t frame) noexcept {
  return static_cast<std::uint64_t>(
      std::ceil(bandwidth_delay_bytes(rate_bps, delay) / (frame + kLineGap)));
}

std::vector<FlightLine> flight_table(double rate_bps, Duration delay) {
  std::vector<FlightLine> table;
  const auto add = [&](std::uint32_t payload, std::uint32_t frame) {
    table.push_back({payload, frame, frames_in_flight(rate_bps, delay, frame)});
  };
  add(0, kSmallestFrame);
  for (std::uint32_t mtu = 256; mtu <= 4096; mtu *= 2) add(mtu, mtu + kRoceHeaders);
  return table;
}

}  // namespace lw::emulator

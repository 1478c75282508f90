// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/path.h"

#include <algorithm>
#include <cmath>

#include "emulator/limits.h"

namespace lw::emulator {
namespace {

constexpr double kLightKmPerSecond = 299'792.458;

}  // namespace

double length_km(const Path& path, Direction direction) noexcept {
  double km = 0;
  for (const Span& span : path.spans)
    if (covers(span.ways, direction)) km += span.km;
  return km;
}

Duration fibre_delay(const Path& path, Direction direction) noexcept {
  double optical_km = 0;
  for (const Span& span : path.spans)
    if (covers(span.ways, direction)) optical_km += span.km * span.group_index;
  return Duration{std::llround(optical_km / kLightKmPerSecond * 1e9)};
}

Duration equipment_delay(const Path& path, Direction direction) noexcept {
  Duration sum{};
  for (const Equipment& item : path.equipment)
    if (covers(item.ways, direction)) sum += item.latency * std::int64_t{item.count};
  return sum;
}

Duration one_way_delay(const Path& path, Direction direction) noexcept {
  return fibre_delay(path, direction) + equipment_delay(path, direction);
}

Duration round_trip(const Path& path) noexcept {
  return one_way_delay(path, Direction::west_to_east) +
         one_way_delay(path, Direction::east_to_west);
}

bool symmetric(const Path& path) noexcept {
  return one_way_delay(path, Direction::west_to_east) ==
         one_way_delay(path, Direction::east_to_west);
}

namespace {

constexpr std::uint32_t kSmallestFrame = 64;

double seconds(Duration delay) noexcept { return static_cast<double>(delay.count()) * 1e-9; }

}  // namespace

double bandwidth_delay_bytes(double rate_bps, Duration delay) noexcept {
  return rate_bps * seconds(delay) / 8;
}

std::uint64_t frames_in_flight(double rate_bps, Duration delay, std::uint32_t frame) noexcept {
  const double frames = std::ceil(bandwidth_delay_bytes(rate_bps, delay) / (frame + kLineGap));
  return static_cast<std::uint64_t>(std::min(frames, static_cast<double>(kMostInFlight)));
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

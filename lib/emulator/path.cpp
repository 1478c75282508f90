// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/path.h"

#include <cmath>

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

}  // namespace lw::emulator

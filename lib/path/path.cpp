// SPDX-License-Identifier: BSD-3-Clause
#include "path/path.h"

#include <cmath>

namespace lw::path {
namespace {

constexpr double kLightKmPerSecond = 299'792.458;

}  // namespace

double length_km(const Path& path) noexcept {
  double km = 0;
  for (const Span& span : path.spans) km += span.km;
  return km;
}

Duration fibre_delay(const Path& path) noexcept {
  double optical_km = 0;
  for (const Span& span : path.spans) optical_km += span.km * span.group_index;
  return Duration{std::llround(optical_km / kLightKmPerSecond * 1e9)};
}

Duration equipment_delay(const Path& path) noexcept {
  Duration sum{};
  for (const Equipment& item : path.equipment) sum += item.latency * std::int64_t{item.count};
  return sum;
}

Duration one_way_delay(const Path& path) noexcept {
  return fibre_delay(path) + equipment_delay(path);
}

}  // namespace lw::path

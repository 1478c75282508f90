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

/// A path as what it is made of (DESIGN 2.3); its delay follows.
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

}  // namespace lw::emulator

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "config/impair/profile.h"
#include "core/error.h"
#include "core/figure.h"
#include "impair/datapath/port_io.h"

namespace lw::impair {

/// What a change needs of memory for more frames inside a run.
struct RoomReport {
  std::uint64_t frames_per_direction = 0;  // that the run then has room for
  std::uint64_t bytes = 0;                 // of the new memory
  Duration took{};                         // to prepare it

  static const FigureTable& figures();
};

/// Memory for more frames inside a run, of both directions. It is prepared outside the data path,
/// which goes on meanwhile.
struct MoreRoom {
  RoomReport report;
  std::array<PortForwarder::Link::Room, 2> links;
  std::array<std::unique_ptr<nic::FrameArena>, 2> arenas;
};

/// Bytes of the memory for `frames` frames that wait in each direction.
std::uint64_t bytes_of_room(std::uint64_t frames, const config::Capacity& capacity) noexcept;

/// Error (environment): it is more than half of the memory that is available.
Result<void> check_memory_for(std::uint64_t frames, const config::Capacity& capacity);

/// Prepares memory for `frames` frames in each direction of `forwarder`, and fills it with zeros.
/// Any thread. Errors: see check_memory_for().
Result<MoreRoom> make_room(const PortForwarder& forwarder, std::uint64_t frames,
                           const config::Capacity& capacity);

/// What make_room() would need, by the time that a small part of it takes.
RoomReport estimate_room(std::uint64_t frames, const config::Capacity& capacity);

}  // namespace lw::impair

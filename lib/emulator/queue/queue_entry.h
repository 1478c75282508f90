// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>

#include "emulator/frame_access.h"
#include "emulator/transit.h"

namespace lw::emulator {

/// Frames that have room for their own Transit: `Frames::transit(handle)` is it.
template <class Frames, class Handle>
concept CarriesTransit = requires(Handle handle) {
  { Frames::transit(handle) } -> std::same_as<Transit&>;
};

/// A frame that waits for its release, with what is known of it.
template <class Handle, class Frames>
struct QueueEntry {
  Instant due;
  Handle handle{};
  Transit kept{};

  [[nodiscard]] Transit& transit() noexcept { return kept; }
  [[nodiscard]] const Transit& transit() const noexcept { return kept; }
};

/// Where the frame itself carries that, its entry is small: less memory goes through the caches
/// while it waits.
template <class Handle, CarriesTransit<Handle> Frames>
struct QueueEntry<Handle, Frames> {
  Instant due;
  Handle handle{};

  [[nodiscard]] Transit& transit() const noexcept { return Frames::transit(handle); }
};

}  // namespace lw::emulator

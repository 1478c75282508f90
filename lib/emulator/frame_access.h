// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <optional>
#include <span>

#include "emulator/transit.h"
#include "wire/view.h"

namespace lw::emulator {

/// How a link gets at its caller's frames: to change their bytes, and to make copies.
///   writable(handle)  the bytes that the frame's envelope was opened on; none where they may not
///                     be changed, because someone else holds them
///   clone(handle)     a frame of its own with the same bytes; nothing where there is no room
///   free(handle)      a clone that found no place
///   T::fetch(handle)  a hint that the frame leaves soon: what every device reads of it may be
///                     fetched into the caches
///   T::fetch_all(handle)  fetches the bytes of a frame whose header was fetched
template <class T, class Handle>
concept FrameAccess = requires(T& frames, Handle handle) {
  { frames.writable(handle) } -> std::same_as<wire::MutableBytes>;
  { frames.clone(handle) } -> std::same_as<std::optional<Handle>>;
  frames.free(handle);
  T::fetch(handle);
  T::fetch_all(handle);
};

/// For callers whose rules neither change nor copy frames.
template <class Handle>
struct NoFrameAccess {
  wire::MutableBytes writable(Handle /*handle*/) noexcept { return {}; }
  std::optional<Handle> clone(Handle /*handle*/) noexcept { return std::nullopt; }
  void free(Handle /*handle*/) noexcept {}
  static void fetch(Handle /*handle*/) noexcept {}
  static void fetch_all(Handle /*handle*/) noexcept {}
};

/// Frames that have room for their own Transit: `Frames::transit(handle)` is it.
template <class Frames, class Handle>
concept CarriesTransit = requires(Handle handle) {
  { Frames::transit(handle) } -> std::same_as<Transit&>;
};

/// Frames that may lie elsewhere while they wait. `frames.stores()`: whether they may now;
/// `frames.store(handles, stored)` puts the handles of the frames at their new places, or the old
/// ones, into the first of `stored`.
template <class Frames, class Handle>
concept StoresFrames =
    requires(Frames& frames, std::span<const Handle> handles, std::span<Handle> stored) {
      { frames.stores() } -> std::same_as<bool>;
      frames.store(handles, stored);
    };
/// Frames that wait for a shorter time stay where they are.
inline constexpr Duration kStoredFrom = std::chrono::microseconds(10);

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

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <optional>
#include <span>

#include "emulator/transit.h"
#include "wire/view.h"

namespace lw::emulator {

/// A link's access to its caller's frames, to change their bytes and to make copies.
///   writable(handle)  the bytes on which the frame's envelope was opened; empty if they are shared
///                     and must not be changed
///   clone(handle)     a new frame with the same bytes; nothing if there is no room
///   free(handle)      frees a clone that could not be queued
///   T::fetch(handle)  a hint that the frame leaves soon: may prefetch what every device reads of
///   it T::fetch_all(handle)  prefetches the bytes of a frame whose header was fetched
template <class T, class Handle>
concept FrameAccess = requires(T& frames, Handle handle) {
  { frames.writable(handle) } -> std::same_as<wire::MutableBytes>;
  { frames.clone(handle) } -> std::same_as<std::optional<Handle>>;
  frames.free(handle);
  T::fetch(handle);
  T::fetch_all(handle);
};

/// Frame access for callers whose rules neither change nor copy frames.
template <class Handle>
struct NoFrameAccess {
  wire::MutableBytes writable(Handle /*handle*/) noexcept { return {}; }
  std::optional<Handle> clone(Handle /*handle*/) noexcept { return std::nullopt; }
  void free(Handle /*handle*/) noexcept {}
  static void fetch(Handle /*handle*/) noexcept {}
  static void fetch_all(Handle /*handle*/) noexcept {}
};

/// Frames that store their own Transit, which is `Frames::transit(handle)`.
template <class Frames, class Handle>
concept CarriesTransit = requires(Handle handle) {
  { Frames::transit(handle) } -> std::same_as<Transit&>;
};

/// Frames that may be copied to other memory while they wait. `frames.stores()`: whether that is
/// possible now; `frames.store(handles, stored)` writes the handles of the copies to `stored`, or
/// the old handle where a frame was not copied.
template <class Frames, class Handle>
concept StoresFrames =
    requires(Frames& frames, std::span<const Handle> handles, std::span<Handle> stored) {
      { frames.stores() } -> std::same_as<bool>;
      frames.store(handles, stored);
    };
/// Frames whose bytes a link may look at: `Frames::bytes(handle)` and `Frames::open(handle)`. Only
/// such frames are admitted in batches.
template <class Frames, class Handle>
concept OpensFrames = requires(Handle handle) {
  Frames::bytes(handle);
  Frames::open(handle);
};

/// Frames that wait for less than this time are not copied.
inline constexpr Duration kStoredFrom = std::chrono::microseconds(10);

/// A frame that waits for its release, with its Transit.
template <class Handle, class Frames>
struct QueueEntry {
  Instant due;
  Handle handle{};
  Transit kept{};

  [[nodiscard]] Transit& transit() noexcept { return kept; }
  [[nodiscard]] const Transit& transit() const noexcept { return kept; }
};

/// A smaller entry, for frames that carry their Transit: less memory passes through the caches.
template <class Handle, CarriesTransit<Handle> Frames>
struct QueueEntry<Handle, Frames> {
  Instant due;
  Handle handle{};

  [[nodiscard]] Transit& transit() const noexcept { return Frames::transit(handle); }
};

}  // namespace lw::emulator

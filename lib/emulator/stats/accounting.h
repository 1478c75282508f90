// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/counter.h"

namespace lw::emulator {

/// Frames and their bytes (without FCS).
struct Amount {
  std::uint64_t frames = 0, bytes = 0;

  Amount& operator+=(const Amount& other) noexcept {
    frames += other.frames;
    bytes += other.bytes;
    return *this;
  }
  friend Amount operator+(Amount a, const Amount& b) noexcept { return a += b; }
  friend bool operator==(const Amount&, const Amount&) = default;
};

/// The resources whose want makes the box drop a frame that no rule dropped.
enum class ResourceDrop : std::uint8_t {
  no_room,      // the release queue was full
  egress_full,  // the way out was blocked, and the buffer before it full
  no_buffer,    // a copy was asked for, and there was nothing to put it into
  stopped,      // still inside when the run ended and draining took too long
  link_down,    // came by, or was to leave by, a port whose link was down
};
inline constexpr std::size_t kResourceDrops = 5;
constexpr std::string_view name_of(ResourceDrop want) noexcept {
  constexpr std::array<std::string_view, kResourceDrops> kNames = {
      "no_room", "egress_full", "no_buffer", "stopped", "link_down"};
  return kNames[static_cast<std::size_t>(want)];
}

/// Where every frame of one rule, or of one direction, has got to at one instant.
struct Account {
  std::string name;  // of the rule, or of the direction
  Amount received, created;
  Amount sent, consumed, dropped_by_rule;
  std::array<Amount, kResourceDrops> dropped_for_resource{};
  Amount in_flight;  // counted in the queues themselves, not derived from the rest

  /// The identity: received + created = sent + consumed + dropped by rule + dropped for want of a
  /// resource + in flight, in frames and in bytes.
  [[nodiscard]] bool holds() const noexcept;
  [[nodiscard]] Amount wanting() const noexcept;
  /// What must be in flight by the other figures.
  [[nodiscard]] Amount remainder() const noexcept;
  void add(const Account& other) noexcept;
};

/// Frames that were lost for want of a resource, and neither by a link that was set down nor by the
/// end of the run: losses that no profile asks for.
[[nodiscard]] Amount unasked_losses(const Account& account) noexcept;

/// One direction's accounting: of the whole, of each rule, and of what no rule matched (the last).
struct Accounting {
  Account direction;
  std::vector<Account> rules;
  // Passed untouched, and worth knowing: pieces of IP packets (they hold no whole RoCE packet),
  // and packets to port 4791 that end before their BTH does.
  std::uint64_t fragments = 0, truncated = 0;

  /// Every account holds, and the rules' sum is the direction's account, counted apart.
  [[nodiscard]] bool holds() const noexcept;
};

/// The same as counters: one thread writes, any may read.
struct Counters {
  Counter frames, bytes;
  void add(std::uint32_t frame_bytes) noexcept {
    frames.add();
    bytes.add(frame_bytes);
  }
  [[nodiscard]] Amount get() const noexcept { return {frames.get(), bytes.get()}; }
};

/// What is counted as frames go by. `created` and `consumed` are for stages that duplicate and
/// for pause frames.
struct AccountCounters {
  Counters received, created, sent, consumed, dropped_by_rule;
  std::array<Counters, kResourceDrops> dropped_for_resource;

  [[nodiscard]] Account account(std::string name) const;
};

}  // namespace lw::emulator

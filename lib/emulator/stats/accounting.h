// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/counter.h"

namespace lw {
struct FigureTable;  // core/figure.h
}

namespace lw::emulator {

/// Meaning of the identity of counters, for each output that has it.
inline constexpr std::string_view kHoldsMeaning =
    "True if received + created = sent + consumed + dropped + in flight.";

/// Numbers of frames and of their bytes (without FCS).
struct Amount {
  std::uint64_t frames = 0, bytes = 0;

  Amount& operator+=(const Amount& other) noexcept {
    frames += other.frames;
    bytes += other.bytes;
    return *this;
  }
  friend Amount operator+(Amount a, const Amount& b) noexcept { return a += b; }
  friend bool operator==(const Amount&, const Amount&) = default;
  static const FigureTable& figures();
};

/// The reasons for which the emulator drops a frame that no rule dropped.
enum class ResourceDrop : std::uint8_t {
  no_room,      // the release queue was full
  egress_full,  // the output was blocked, and the egress buffer full
  no_buffer,    // there was no free buffer for a copy
  stopped,      // still inside when the run ended, and draining took too long
  link_down,    // the link of its input or output port was down
};
inline constexpr std::size_t kResourceDrops = 5;
constexpr std::string_view name_of(ResourceDrop want) noexcept {
  constexpr std::array<std::string_view, kResourceDrops> kNames = {
      "no_room", "egress_full", "no_buffer", "stopped", "link_down"};
  return kNames[static_cast<std::size_t>(want)];
}

/// The frames that were dropped for lack of each resource.
struct ResourceDrops : std::array<Amount, kResourceDrops> {
  static const FigureTable& figures();
};

/// Where all frames of one rule, or of one direction, are at one instant.
struct Account {
  std::string name;  // name of the rule or of the direction
  Amount received, created;
  Amount sent, consumed, dropped_by_rule;
  ResourceDrops dropped_for_resource{};
  Amount in_flight;  // counted in the queues, not computed from the other counters

  /// Returns true if received + created = sent + consumed + dropped by rule + dropped for lack of a
  /// resource + in flight, in frames and in bytes.
  [[nodiscard]] bool holds() const noexcept;
  [[nodiscard]] Amount wanting() const noexcept;
  /// Returns what must be in flight, computed from the other counters.
  [[nodiscard]] Amount remainder() const noexcept;
  void add(const Account& other) noexcept;
  static const FigureTable& figures();
};

/// Returns the frames that were dropped because a resource was missing, except by a link that was
/// set down or at the end of the run: losses that no profile asks for.
[[nodiscard]] Amount unasked_losses(const Account& account) noexcept;

/// The accounts of one direction: of the whole, of each rule, and of unmatched frames (the last).
struct Accounting {
  Account direction;
  std::vector<Account> rules;
  // Unmatched frames of interest: fragments of IP packets (which hold no whole RoCE packet), and
  // packets to port 4791 that end before the end of their BTH.
  std::uint64_t fragments = 0, truncated = 0;

  /// Returns true if every account holds, and if the sum over the rules equals the direction's
  /// account, which is counted independently.
  [[nodiscard]] bool holds() const noexcept;
};

/// An Amount as counters: one thread writes, any may read.
struct Counters {
  Counter frames, bytes;
  void add(std::uint32_t frame_bytes) noexcept {
    frames.add();
    bytes.add(frame_bytes);
  }
  [[nodiscard]] Amount get() const noexcept { return {frames.get(), bytes.get()}; }
};

/// The counters of an account. `created` and `consumed` count copies and pause frames.
struct AccountCounters {
  Counters received, created, sent, consumed, dropped_by_rule;
  std::array<Counters, kResourceDrops> dropped_for_resource;

  /// Frames that were received or created and are still inside.
  [[nodiscard]] std::uint64_t frames_inside() const noexcept {
    std::uint64_t gone = sent.frames.get() + consumed.frames.get() + dropped_by_rule.frames.get();
    for (const Counters& dropped : dropped_for_resource) gone += dropped.frames.get();
    return received.frames.get() + created.frames.get() - gone;
  }
  [[nodiscard]] Account account(std::string name) const;
};

}  // namespace lw::emulator

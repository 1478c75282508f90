// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "wire/ethernet.h"
#include "wire/view.h"

namespace lw::wire {

inline constexpr std::uint16_t kEtherTypeMacControl = 0x8808;
inline constexpr std::uint16_t kOpcodePause = 0x0001, kOpcodePfc = 0x0101;
/// Destination address: received by the other end of the link, never forwarded. (IEEE 802.1Q, table
/// 8-1)
inline constexpr MacAddress kPauseAddress{std::byte{0x01}, std::byte{0x80}, std::byte{0xc2},
                                          std::byte{0x00}, std::byte{0x00}, std::byte{0x01}};
inline constexpr std::size_t kPriorities = 8;
/// Bit times of a pause quantum.
inline constexpr unsigned kQuantumBits = 512;

/// Some of the priorities: bit i stands for priority i.
using Priorities = std::uint8_t;
constexpr Priorities priority_bit(std::size_t priority) noexcept {
  return static_cast<Priorities>(1U << priority);
}

/// Pause time of each listed priority, in quanta; 0 ends the pause.
struct PfcFields {
  std::array<std::optional<std::uint16_t>, kPriorities> quanta;

  [[nodiscard]] Priorities listed() const noexcept {
    Priorities found = 0;
    for (std::size_t i = 0; i < kPriorities; ++i)
      if (quanta[i]) found |= priority_bit(i);
    return found;
  }
  /// These fields without those of some priorities.
  [[nodiscard]] PfcFields without(Priorities some) const noexcept {
    PfcFields rest = *this;
    for (std::size_t i = 0; i < kPriorities; ++i)
      if (some & priority_bit(i)) rest.quanta[i].reset();
    return rest;
  }
  friend bool operator==(const PfcFields&, const PfcFields&) = default;
};

/// Priority-based flow control after the Ethernet header. (IEEE 802.1Qbb; 802.3, annex 31D)
///
///   | opcode 16 | enabled priorities 16 | time of priority 0 ... 7, 16 each |
struct Pfc {
  Be16 opcode, enabled;
  std::array<Be16, kPriorities> times;

  [[nodiscard]] PfcFields fields() const noexcept {
    PfcFields f;
    for (std::size_t i = 0; i < kPriorities; ++i)
      if (enabled.get() >> i & 1U) f.quanta[i] = times[i].get();
    return f;
  }
  void set(const PfcFields& f) noexcept {
    opcode.set(kOpcodePfc);
    for (std::size_t i = 0; i < kPriorities; ++i) times[i].set(f.quanta[i].value_or(0));
    enabled.set(f.listed());
  }
};
static_assert(sizeof(Pfc) == 20 && alignof(Pfc) == 1);

/// The fields of a PFC frame; nothing for other frames.
[[nodiscard]] inline std::optional<PfcFields> pfc_of(Bytes frame) noexcept {
  const auto* ethernet = view<Ethernet>(frame);
  const auto* pfc = view_at<Pfc>(frame, sizeof(Ethernet));
  if (!pfc || ethernet->type.get() != kEtherTypeMacControl ||
      ethernet->destination != kPauseAddress || pfc->opcode.get() != kOpcodePfc)
    return std::nullopt;
  return pfc->fields();
}

/// The pause time in quanta of a frame that pauses the whole link (IEEE 802.3, annex 31B; 0 ends
/// the pause); nothing for other frames.
[[nodiscard]] inline std::optional<std::uint16_t> link_pause_of(Bytes frame) noexcept {
  struct Pause {
    Be16 opcode, quanta;
  };
  const auto* ethernet = view<Ethernet>(frame);
  const auto* pause = view_at<Pause>(frame, sizeof(Ethernet));
  if (!pause || ethernet->type.get() != kEtherTypeMacControl ||
      ethernet->destination != kPauseAddress || pause->opcode.get() != kOpcodePause)
    return std::nullopt;
  return pause->quanta.get();
}

/// The whole frame, padded, without its FCS.
[[nodiscard]] inline std::array<std::byte, kEthernetMinimum> pfc_frame(const MacAddress& source,
                                                                       const PfcFields& fields) {
  std::array<std::byte, kEthernetMinimum> frame{};
  view<Ethernet>(MutableBytes(frame))->set({kPauseAddress, source, kEtherTypeMacControl});
  view_at<Pfc>(MutableBytes(frame), sizeof(Ethernet))->set(fields);
  return frame;
}

}  // namespace lw::wire

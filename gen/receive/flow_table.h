// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "gen/receive/receive_flow.h"

namespace lw::gen {

/// Hash table of streams: open addressing, at most half full, so a successful look-up usually
/// touches one slot and the flow. Doubles when it is half full. Doesn't own the flows.
class FlowTable {
 public:
  FlowTable() : slots_(kFirstSlots) {}

  static std::uint64_t hash_of(const StreamKey& stream) noexcept {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    const std::uint64_t rest = std::uint64_t{stream.source_qp} << 1 | (stream.is_signed ? 1u : 0u);
    return (roce::FlowKeyHash{}(stream.key) ^ rest) * kGolden;
  }

  /// Returns the flow of `stream`, or null. `hash` is hash_of(stream).
  [[nodiscard]] ReceiveFlow* find(std::uint64_t hash, const StreamKey& stream) const noexcept {
    for (std::size_t at = home_of(hash);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.flow == nullptr) return nullptr;
      if (slot.hash == hash && slot.flow->stream == stream) return slot.flow;
    }
  }

  /// Adds a flow whose stream is not in the table. The flow must not move.
  void add(std::uint64_t hash, ReceiveFlow& flow) {
    if (2 * ++count_ > slots_.size()) grow();
    place({hash, &flow});
  }

 private:
  static constexpr std::size_t kFirstSlots = 256;
  struct Slot {
    std::uint64_t hash = 0;
    ReceiveFlow* flow = nullptr;
  };

  /// The upper bits of a multiplicative hash are the best mixed.
  [[nodiscard]] std::size_t home_of(std::uint64_t hash) const noexcept {
    return hash >> (64 - std::countr_zero(slots_.size()));
  }

  void place(const Slot& slot) {
    std::size_t at = home_of(slot.hash);
    while (slots_[at].flow != nullptr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.flow != nullptr) place(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace lw::gen

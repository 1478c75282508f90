// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/packet.h"

namespace lw::transport {

/// The bytes of payloads in flight, counted: whoever lets go of a packet releases its slot,
/// whoever copies one retains it. Slot 0 is no payload and needs neither. One thread.
class PayloadStore {
 public:
  static constexpr std::size_t kLargest = 4096;  // of a path MTU

  /// A slot of at most kLargest bytes to be filled, held once.
  PayloadSlot take() {
    if (free_.empty()) {
      slots_.push_back(std::make_unique<Slot>());
      free_.push_back(static_cast<PayloadSlot>(slots_.size()));
    }
    const PayloadSlot slot = free_.back();
    free_.pop_back();
    at(slot).holders = 1;
    return slot;
  }
  void retain(PayloadSlot slot) noexcept {
    if (slot != 0) ++at(slot).holders;
  }
  void release(PayloadSlot slot) {
    if (slot == 0) return;
    assert(at(slot).holders > 0);
    if (--at(slot).holders == 0) free_.push_back(slot);
  }
  [[nodiscard]] std::span<std::byte> bytes(PayloadSlot slot, std::size_t length) noexcept {
    assert(length <= kLargest);
    return {at(slot).bytes, length};
  }
  /// Slots that somebody holds: 0 when no packet is in flight, or one was lost track of.
  [[nodiscard]] std::size_t in_use() const noexcept { return slots_.size() - free_.size(); }

 private:
  struct Slot {
    std::uint32_t holders = 0;
    std::byte bytes[kLargest];
  };
  Slot& at(PayloadSlot slot) noexcept { return *slots_[slot - 1]; }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<PayloadSlot> free_;
};

}  // namespace lw::transport

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

class Memory;

/// The bytes of a payload that are written into a frame: they exist already, or a memory writes
/// them. Valid as long as what they are in.
class PayloadView {
 public:
  PayloadView() = default;
  PayloadView(wire::Bytes bytes) noexcept  // NOLINT(google-explicit-constructor)
      : bytes_(bytes), length_(bytes.size()) {}
  /// The bytes [va, va + length) of `memory`.
  PayloadView(Memory& memory, std::uint64_t va, std::size_t length) noexcept
      : memory_(&memory), va_(va), length_(length) {}

  [[nodiscard]] std::size_t size() const noexcept { return length_; }
  /// Writes the payload into `out`, which has size() bytes.
  void write_to(wire::MutableBytes out) const;

 private:
  wire::Bytes bytes_;
  Memory* memory_ = nullptr;
  std::uint64_t va_ = 0;
  std::size_t length_ = 0;
};

/// Payloads in flight, with a count of holders: dropping a packet releases its slot, copying it
/// retains the slot. Slot 0 means no payload and needs neither. One thread.
///
/// A driver whose packets become frames at once lends payloads instead of copying them: the slot
/// kLent stands for bytes outside the store until the next lend(). Copies in and out of slots take
/// 280 of 400 ns of a 4 KiB packet at the side that receives it.
class PayloadStore {
 public:
  static constexpr std::size_t kLargest = 4096;  // bytes, the largest path MTU
  static constexpr PayloadSlot kLent = ~PayloadSlot{0};

  /// How Memory::snapshot() takes the payload of a packet to send: copied, or lent, if the driver
  /// writes each packet into a frame before it asks for the next one.
  enum class Sending : std::uint8_t { copies, lends };
  explicit PayloadStore(Sending sending = Sending::copies) noexcept
      : lends_(sending == Sending::lends) {}

  [[nodiscard]] bool lends() const noexcept { return lends_; }
  /// Returns the slot of the payload, which is valid until the next lend().
  PayloadSlot lend(const PayloadView& payload) noexcept {
    lent_ = payload;
    return kLent;
  }
  /// As lend(), for bytes that arrived.
  PayloadSlot lend(wire::Bytes bytes) noexcept {
    lent_bytes_ = bytes;
    return lend(PayloadView(bytes));
  }

  /// Returns a slot for at most kLargest bytes, with one holder.
  PayloadSlot allocate() {
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
    if (slot != 0 && slot != kLent) ++at(slot).holders;
  }
  void release(PayloadSlot slot) {
    if (slot == 0 || slot == kLent) return;
    assert(at(slot).holders > 0);
    if (--at(slot).holders == 0) free_.push_back(slot);
  }
  /// Returns a slot with these bytes that stays valid: the same one with one more holder, or a copy
  /// of what is lent.
  PayloadSlot keep(PayloadSlot slot, std::size_t length);

  /// The bytes of a slot of this store.
  [[nodiscard]] std::span<std::byte> bytes(PayloadSlot slot, std::size_t length) noexcept {
    assert(length <= kLargest && slot != kLent);
    return {at(slot).bytes, length};
  }
  /// The bytes of any slot of a packet that arrived.
  [[nodiscard]] wire::Bytes content(PayloadSlot slot, std::size_t length) noexcept {
    if (slot != kLent) return bytes(slot, length);
    assert(length == lent_bytes_.size());
    return lent_bytes_;
  }
  /// The payload of any slot.
  [[nodiscard]] PayloadView view(PayloadSlot slot, std::size_t length) noexcept {
    return slot == kLent ? lent_ : PayloadView(bytes(slot, length));
  }
  /// Slots with a holder: 0 when no packet is in flight; otherwise a slot has leaked.
  [[nodiscard]] std::size_t in_use() const noexcept { return slots_.size() - free_.size(); }
  /// Frees the memory of the slots if no packet is in flight.
  void trim() {
    if (in_use() > 0) return;
    slots_.clear();
    free_.clear();
    slots_.shrink_to_fit();
    free_.shrink_to_fit();
  }

 private:
  struct Slot {
    std::uint32_t holders = 0;
    std::byte bytes[kLargest];
  };
  Slot& at(PayloadSlot slot) noexcept { return *slots_[slot - 1]; }

  bool lends_;
  PayloadView lent_;
  wire::Bytes lent_bytes_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<PayloadSlot> free_;
};

}  // namespace lw::transport

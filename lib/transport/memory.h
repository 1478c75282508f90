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

/// Bytes of the payloads in flight, with a count of holders: dropping a packet releases its slot,
/// copying it retains the slot. Slot 0 is no payload and needs neither. One thread.
class PayloadStore {
 public:
  static constexpr std::size_t kLargest = 4096;  // of a path MTU

  /// Returns a slot for at most kLargest bytes, with one holder.
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
  /// Slots with a holder: 0 when no packet is in flight; otherwise a slot has leaked.
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

/// A registered memory region: the local buffers of QPs, and what their peers read and write. Real
/// memory stores every byte. Virtual memory has only a size (an atomic reads 0), so that simulating
/// terabytes costs nothing.
class Memory {
 public:
  enum class Kind : std::uint8_t { real, virtual_only };

  /// Addresses [va, va + size) under this R_Key. Real memory begins as zeros.
  Memory(Kind kind, std::uint64_t va, std::uint64_t size, std::uint32_t r_key)
      : va_(va), size_(size), r_key_(r_key), bytes_(kind == Kind::real ? size : 0) {}

  [[nodiscard]] bool real() const noexcept { return !bytes_.empty(); }
  [[nodiscard]] std::uint64_t va() const noexcept { return va_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t r_key() const noexcept { return r_key_; }

  [[nodiscard]] bool holds(std::uint64_t va, std::uint64_t length) const noexcept {
    return va >= va_ && length <= size_ && va - va_ <= size_ - length;
  }
  /// Whether a peer may touch [va, va + length). An empty access is always allowed.
  [[nodiscard]] bool allows(std::uint32_t r_key, std::uint64_t va,
                            std::uint64_t length) const noexcept {
    return length == 0 || (r_key == r_key_ && holds(va, length));
  }

  /// A view of real memory that holds() them; empty for virtual memory.
  [[nodiscard]] std::span<std::byte> bytes(std::uint64_t va, std::size_t length) noexcept {
    if (!real()) return {};
    return {bytes_.data() + (va - va_), length};
  }

  /// Copies [va, va + length) into a new slot of `store`; 0 for virtual memory or length 0.
  PayloadSlot snapshot(std::uint64_t va, std::uint32_t length, PayloadStore& store) {
    return real() && length > 0 ? copy_out(va, length, store) : 0;
  }
  /// Stores a packet's payload, unless the memory is virtual or the payload has no bytes.
  void store(std::uint64_t va, PayloadSlot slot, std::uint32_t length, PayloadStore& store) {
    if (real() && slot != 0 && length > 0) copy_in(va, slot, length, store);
  }

  /// The eight bytes at va in host byte order, for atomics. Requires holds(va, 8).
  [[nodiscard]] std::uint64_t load(std::uint64_t va) noexcept;
  void store(std::uint64_t va, std::uint64_t value) noexcept;

 private:
  PayloadSlot copy_out(std::uint64_t va, std::uint32_t length, PayloadStore& store);
  void copy_in(std::uint64_t va, PayloadSlot slot, std::uint32_t length, PayloadStore& store);

  std::uint64_t va_, size_;
  std::uint32_t r_key_;
  std::vector<std::byte> bytes_;
};

}  // namespace lw::transport

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/address_range.h"
#include "core/huge_pages.h"
#include "transport/fifo.h"
#include "transport/packet.h"
#include "transport/payload_store.h"
#include "transport/qp_config.h"
#include "transport/work.h"
#include "wire/aeth.h"

namespace lw::transport {

/// The bytes of a region that are computed when they are read, and examined when they are written,
/// instead of stored. Addresses are those of the region, inside of which each access is.
class MemoryContent {
 public:
  MemoryContent() = default;
  MemoryContent(const MemoryContent&) = delete;
  MemoryContent& operator=(const MemoryContent&) = delete;
  virtual ~MemoryContent() = default;

  /// Writes the bytes at `va` into `out`.
  virtual void read(std::uint64_t va, std::span<std::byte> out) noexcept = 0;
  /// Takes bytes that arrived for `va`.
  virtual void write(std::uint64_t va, std::span<const std::byte> bytes) = 0;
};

/// A registered memory region: the local buffers of QPs, and what their peers read and write. Real
/// memory stores every byte. Virtual memory has only a size (an atomic reads 0), so that simulating
/// terabytes costs nothing. A region with a MemoryContent computes its bytes.
///
/// Every access is checked here, also those of the owner: one that is not inside the region reads
/// no byte of it and writes nothing.
class Memory {
 public:
  enum class Kind : std::uint8_t { real, virtual_only };

  /// Addresses [va, va + size) under this R_Key. Real memory begins as zeros, in
  /// pages that are all touched: a page's first use takes 10 us, which a run must not wait for.
  /// Throws std::bad_alloc.
  Memory(Kind kind, std::uint64_t va, std::uint64_t size, std::uint32_t r_key);
  /// The same addresses, whose bytes are those of `content`, which outlives the memory.
  Memory(MemoryContent& content, std::uint64_t va, std::uint64_t size, std::uint32_t r_key);

  /// True if the memory stores its bytes.
  [[nodiscard]] bool real() const noexcept { return !bytes_.empty(); }
  [[nodiscard]] std::uint64_t va() const noexcept { return range_.first(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return range_.size(); }
  [[nodiscard]] std::uint32_t r_key() const noexcept { return r_key_; }

  [[nodiscard]] bool holds(std::uint64_t va, std::uint64_t length) const noexcept {
    return range_.holds(va, length);
  }
  /// Whether a peer may touch [va, va + length). An empty access is always allowed.
  [[nodiscard]] bool allows(std::uint32_t r_key, std::uint64_t va,
                            std::uint64_t length) const noexcept {
    return length == 0 || (r_key == r_key_ && holds(va, length));
  }

  /// Returns the bytes [va, va + length). Empty if the memory does not store bytes, and if they are
  /// not all in the region.
  [[nodiscard]] std::span<std::byte> bytes(std::uint64_t va, std::uint64_t length) noexcept {
    if (!real()) return {};
    return range_.part(bytes_, va, length);
  }

  /// Writes [va, va + out.size()) into `out`: zeros if they are not all in the region, or not
  /// stored.
  void read(std::uint64_t va, std::span<std::byte> out) noexcept;
  /// Copies [va, va + length) into a slot of `store`, or lends it, if the store does: zeros if they
  /// are not all in the region. Returns 0 for virtual memory or length 0.
  PayloadSlot snapshot(std::uint64_t va, std::uint32_t length, PayloadStore& store) {
    if (!has_bytes_ || length == 0) return 0;
    return store.lends() ? store.lend(PayloadView(*this, va, length)) : copy_out(va, length, store);
  }
  /// Stores a packet's payload, unless the memory is virtual or the payload has no bytes.
  void store(std::uint64_t va, PayloadSlot slot, std::uint32_t length, PayloadStore& store) {
    if (has_bytes_ && slot != 0 && length > 0) copy_in(va, slot, length, store);
  }

  /// The eight bytes at va in host byte order, for atomics; 0 outside the region.
  [[nodiscard]] std::uint64_t load(std::uint64_t va) noexcept;
  void store(std::uint64_t va, std::uint64_t value) noexcept;

 private:
  PayloadSlot copy_out(std::uint64_t va, std::uint32_t length, PayloadStore& store);
  void copy_in(std::uint64_t va, PayloadSlot slot, std::uint32_t length, PayloadStore& store);

  AddressRange range_;
  std::uint32_t r_key_;
  bool has_bytes_;                    // stored or computed
  MemoryContent* content_ = nullptr;  // null: stored, or virtual
  HugeVector<std::byte> bytes_;       // empty: virtual or computed
};

/// Reason why a request packet isn't executed.
enum class Refusal : std::uint8_t {
  none,
  no_receive,       // RNR
  invalid_request,  // wrong position in its message, or wrong length
  access_error,     // the peer may not access this memory
};

/// Writes SENDs and WRITEs into memory, packet by packet in order, for all transports: checks
/// lengths and positions, consumes receives, and reports complete messages. (IBTA vol. 1, 9.7.4.1)
class MessageSink {
 public:
  /// All three outlive it.
  MessageSink(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), memory_(memory), store_(store) {}

  /// Returns false, and takes nothing, if the receive is not inside the memory.
  bool post(const Receive& receive) {
    const bool inside = config_.endless_receives || memory_.holds(receive.va, receive.length);
    if (inside) receives_.push(receive);
    return inside;
  }
  [[nodiscard]] std::size_t receives() const noexcept { return receives_.size(); }

  /// Whether a packet with this opcode may come next. Checked first.
  [[nodiscard]] bool in_place(const OpcodeMeaning& meaning) const noexcept;
  /// Executes a SEND or WRITE packet. Requires in_place(). Stores nothing when it refuses.
  Refusal execute(const Packet& packet, const OpcodeMeaning& meaning, Instant now);
  /// Drops the incomplete message. Its receive, if it has one, becomes available again.
  void abandon();
  [[nodiscard]] bool open() const noexcept { return open_; }

  Fifo<Completion>& arrivals() noexcept { return arrivals_; }
  /// Reports a READ or an atomic, if the configuration asks for it.
  void tell_fetch(wire::Operation operation, std::uint32_t length) {
    if (!config_.report_fetches) return;
    arrivals_.push({.length = length, .operation = operation, .arrival = true});
  }
  /// Complete messages received.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }

 private:
  [[nodiscard]] bool right_length(const Packet& packet,
                                  const OpcodeMeaning& meaning) const noexcept;
  Refusal begin(const Packet& packet, const OpcodeMeaning& meaning);
  Refusal begin_send();
  [[nodiscard]] bool lacks_receive() const noexcept {
    return !config_.endless_receives && receives_.empty();
  }
  void report(const Packet& packet, const OpcodeMeaning& meaning, Instant now);

  const QpConfig& config_;
  Memory& memory_;
  PayloadStore& store_;
  bool open_ = false;
  wire::Operation operation_{};
  std::uint64_t va_ = 0;
  std::uint64_t room_ = 0;  // a WRITE's length, or the length of a SEND's receive
  std::uint64_t got_ = 0;
  std::uint64_t messages_ = 0, payload_bytes_ = 0;
  Fifo<Completion> arrivals_;
  Fifo<Receive> receives_;  // the front one belongs to the open SEND
};

// In the header because each packet that a simulation delivers passes through them.

inline bool MessageSink::in_place(const OpcodeMeaning& meaning) const noexcept {
  if (meaning.begins) return !open_;
  return open_ && meaning.operation == operation_;
}

inline bool MessageSink::right_length(const Packet& packet,
                                      const OpcodeMeaning& meaning) const noexcept {
  if (!meaning.ends) return packet.payload == config_.mtu;
  const bool empty_last = !meaning.begins && packet.payload == 0;
  return packet.payload <= config_.mtu && !empty_last;
}

/// Starts a message: finds its memory.
inline Refusal MessageSink::begin(const Packet& packet, const OpcodeMeaning& meaning) {
  operation_ = meaning.operation;
  got_ = 0;
  if (meaning.operation != wire::Operation::write) return begin_send();
  if (!memory_.allows(packet.r_key, packet.va, packet.length)) return Refusal::access_error;
  va_ = packet.va;
  room_ = packet.length;
  return Refusal::none;
}

inline Refusal MessageSink::execute(const Packet& packet, const OpcodeMeaning& meaning,
                                    Instant now) {
  if (!right_length(packet, meaning)) return Refusal::invalid_request;
  if (meaning.begins) {
    if (const auto refusal = begin(packet, meaning); refusal != Refusal::none) return refusal;
  }
  const bool ends = meaning.ends;
  const bool write = meaning.operation == wire::Operation::write;
  const std::uint64_t got = got_ + packet.payload;
  if (got > room_ || (ends && write && got != room_)) return Refusal::invalid_request;
  if (ends && write && meaning.immediate && lacks_receive()) return Refusal::no_receive;
  if (write || !config_.endless_receives) {
    memory_.store(va_ + got_, packet.data, packet.payload, store_);
  }
  got_ = got;
  payload_bytes_ += packet.payload;
  open_ = !ends;
  if (!ends) return Refusal::none;
  ++messages_;
  if (!write || meaning.immediate || config_.report_writes) report(packet, meaning, now);
  return Refusal::none;
}

}  // namespace lw::transport

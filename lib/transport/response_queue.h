// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transport/fifo.h"
#include "transport/memory.h"
#include "transport/opcode_set.h"
#include "transport/packet.h"
#include "transport/qp_config.h"

namespace lw::transport {

/// What a responder still has to say, in the order in which it must be said: an ACK never
/// overtakes the READ response before it. (IBTA vol. 1, 9.7.5.1)
class ResponseQueue {
 public:
  ResponseQueue(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), opcodes_(config.transport), memory_(memory), store_(store) {}

  /// An ACK or NAK with this syndrome. Newer ACKs replace one that still waits, where allowed.
  void acknowledge(wire::Psn psn, std::uint8_t syndrome, std::uint32_t msn);
  /// The response to a READ of `length` bytes at `va`, from its first PSN.
  void read(wire::Psn psn, std::uint64_t va, std::uint32_t length, std::uint32_t msn);
  void atomic(wire::Psn psn, std::uint64_t original, std::uint32_t msn);

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  /// Whether what comes next carries data (a READ response), and so competes with requests.
  [[nodiscard]] bool data_next() const noexcept { return items_.front().kind == Kind::read; }
  /// The next packet, into a fresh one; only when not empty(). Its payload is read from the
  /// memory now.
  void next(Packet& packet);

 private:
  enum class Kind : std::uint8_t { acknowledge, read, atomic };
  struct Item {
    Kind kind{};
    std::uint8_t syndrome = 0;
    wire::Psn psn;
    std::uint32_t msn = 0;
    std::uint64_t va = 0, original = 0;
    std::uint32_t length = 0;
    std::uint32_t sent = 0;  // packets of a READ response
  };
  void fill_read(Packet& packet, Item& item);
  [[nodiscard]] static bool finished(const Item& item, std::uint32_t mtu) noexcept {
    return item.kind != Kind::read || item.sent == packets_of(item.length, mtu);
  }

  QpConfig config_;
  OpcodeSet opcodes_;
  Memory& memory_;
  PayloadStore& store_;
  Fifo<Item> items_;
};

}  // namespace lw::transport

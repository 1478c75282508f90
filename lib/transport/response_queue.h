// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "transport/fifo.h"
#include "transport/memory.h"
#include "transport/packet.h"
#include "transport/qp_config.h"
#include "wire/aeth.h"

namespace lw::transport {

/// The responses that a responder still has to send, in order: an ACK never overtakes the READ
/// response before it. (IBTA vol. 1, 9.7.5.1)
class ResponseQueue {
 public:
  /// Responses that wait at the same time. A requester has far fewer requests in flight that get
  /// one each; a peer that repeats READs or atomics without end must not fill memory.
  static constexpr std::size_t kMost = 1024;

  /// All three outlive it.
  ResponseQueue(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), opcodes_(opcodes_of(config.transport)), memory_(memory), store_(store) {}

  /// Adds an ACK or NAK with this syndrome. A newer ACK replaces a queued one, if allowed.
  void acknowledge(wire::Psn psn, std::uint8_t syndrome, std::uint32_t msn) {
    const bool merge = !items_.empty() && merges(items_.back(), syndrome);
    Item& item = merge ? items_.back() : items_.add();
    item.kind = Kind::acknowledge;
    item.syndrome = syndrome;
    item.psn = psn;
    item.msn = msn;
    item.sent = 0;
  }
  /// Whether a request is executed now, or was before and is answered again.
  enum class Request : std::uint8_t { fresh, repeated };
  /// Adds the response to a READ of `length` bytes at `va`. `psn` is its first PSN.
  void read(wire::Psn psn, std::uint64_t va, std::uint32_t length, std::uint32_t msn,
            Request request);
  void atomic(wire::Psn psn, std::uint64_t original, std::uint32_t msn, Request request);

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  /// New READs and atomics whose response is not sent completely.
  [[nodiscard]] std::uint32_t fetches() const noexcept { return fetches_; }
  [[nodiscard]] bool full() const noexcept { return items_.size() >= kMost; }
  /// Whether the next packet is a READ response, which competes with requests.
  [[nodiscard]] bool data_next() const noexcept { return items_.front().kind == Kind::read; }
  /// Overwrites `packet` with the next packet. Requires !empty(). Reads its payload from memory
  /// now.
  void next(Packet& packet) {
    Item& item = items_.front();
    set_headers(packet, config_);
    packet.opcode = opcodes_.of(wire::Operation::ack, wire::Position::only);
    packet.psn = item.psn + item.sent;
    packet.syndrome = item.syndrome;
    packet.msn = item.msn;
    if (item.kind != Kind::acknowledge) return fill_data(packet, item);
    items_.pop();
  }

 private:
  enum class Kind : std::uint8_t { acknowledge, read, atomic };
  struct Item {
    Kind kind{};
    Request request{};
    std::uint8_t syndrome = 0;
    wire::Psn psn;
    std::uint32_t msn = 0;
    std::uint64_t value = 0;  // a READ's address, or an atomic's original value
    std::uint32_t length = 0;
    std::uint32_t sent = 0;  // packets of a READ response
  };
  static bool is_ack(std::uint8_t syndrome) noexcept {
    return syndrome >> wire::Aeth::kKindShift == 0;
  }
  [[nodiscard]] bool merges(const Item& waiting, std::uint8_t syndrome) const noexcept {
    return config_.coalesce_acks && waiting.kind == Kind::acknowledge && is_ack(syndrome) &&
           is_ack(waiting.syndrome);
  }
  /// Fills in what a READ response or an atomic ACK has beyond an ACK.
  [[gnu::noinline]] void fill_data(Packet& packet, Item& item) {
    if (item.kind == Kind::read) {
      fill_read(packet, item);
      if (item.sent < packets_of(item.length, config_.mtu)) return;
    } else {
      packet.opcode = opcodes_.of(wire::Operation::atomic_ack, wire::Position::only);
      packet.swap_add = item.value;
    }
    if (item.request == Request::fresh) --fetches_;
    items_.pop();
  }

  void fill_read(Packet& packet, Item& item) {
    const wire::Position position = position_of(item.sent, packets_of(item.length, config_.mtu));
    const std::uint64_t offset = std::uint64_t{item.sent} * config_.mtu;
    packet.opcode = opcodes_.of(wire::Operation::read_response, position);
    packet.payload =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, item.length - offset));
    packet.data = memory_.snapshot(item.value + offset, packet.payload, store_);
    ++item.sent;
  }

  const QpConfig& config_;
  const OpcodeSet& opcodes_;
  Memory& memory_;
  PayloadStore& store_;
  Fifo<Item> items_;
  std::uint32_t fetches_ = 0;
};

inline void ResponseQueue::read(wire::Psn psn, std::uint64_t va, std::uint32_t length,
                                std::uint32_t msn, Request request) {
  if (request == Request::fresh) ++fetches_;
  items_.push({.kind = Kind::read,
               .request = request,
               .syndrome = wire::Aeth::kUnlimitedCredits,
               .psn = psn,
               .msn = msn,
               .value = va,
               .length = length});
}

inline void ResponseQueue::atomic(wire::Psn psn, std::uint64_t original, std::uint32_t msn,
                                  Request request) {
  if (request == Request::fresh) ++fetches_;
  items_.push({.kind = Kind::atomic,
               .request = request,
               .syndrome = wire::Aeth::kUnlimitedCredits,
               .psn = psn,
               .msn = msn,
               .value = original});
}

}  // namespace lw::transport

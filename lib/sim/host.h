// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "perf/config.h"
#include "sim/sim_link.h"
#include "transport/qp_scheduler.h"

namespace lw::sim {

struct HostCounters {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t sent_wire_bytes = 0;
  std::uint64_t icrc_errors = 0;  // corrupted packets, dropped
  std::uint64_t unknown_qp = 0;
};

/// A simulated endpoint: QPs, the memory they share, and a NIC whose one port sends their packets.
/// Drives a QP scheduler in virtual time; a Simulation drives the host.
class Host final : public transport::QpScheduler<Host> {
 public:
  /// `out` and `store` outlive it.
  Host(std::uint16_t number, const perf::NicConfig& nic, transport::Memory memory,
       transport::PayloadStore& store, SimLink& out);

  static constexpr std::uint32_t kFirstQpn = 0x11;
  [[nodiscard]] static constexpr std::uint32_t qpn_of(std::uint32_t qp) noexcept {
    return kFirstQpn + qp;
  }

  /// Adds a QP and sets its host and its QPN: QP i has qpn_of(i). Returns i.
  std::uint32_t add_qp(transport::QpConfig config);
  /// Posts a receive at time `at`, which is not before now and not before that of an earlier call.
  void post_later(std::uint32_t qp, const transport::Receive& receive, Instant at) {
    reposts_.push({at, qp, receive});
    unusual_ = true;
  }
  /// Calls the application's on_time() at `at`, which is not before now; of equal times, in the
  /// order of these calls.
  void call_later(transport::Application& application, std::uint64_t tag, Instant at) {
    calls_.push({at, calls_made_++, tag, &application});
    unusual_ = true;
  }
  [[nodiscard]] transport::Memory& memory() noexcept { return memory_; }
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

  // receive(), next_at() and act() are here because each event of a simulation is one of them:
  // calls cost a packet and its ACK 30 instructions.

  /// Processes a packet that arrives, and releases its payload's slot.
  void receive(const transport::Packet& packet, Instant now) {
    ++counters_.received;
    if (packet.icrc_wrong || limits_sends_) [[unlikely]]
      return receive_unusual(packet, now);
    accept(packet, now, true);
    transmit(now);
  }
  /// When act() has something to do; Instant::max(): nothing is due.
  [[nodiscard]] Instant next_at() const noexcept {
    const Instant next = wants_port() ? std::min(port_free_at_, next_timer()) : next_timer();
    return unusual_ ? std::min(next, next_unusual()) : next;
  }
  /// Sends, receives and expires what is due.
  void act(Instant now) {
    if (unusual_) act_unusual(now);
    if (next_timer() <= now) run_timers(now);
    transmit(now);
  }

  /// Priority flow control: a paused port sends nothing more, until it may go on.
  void pause(bool paused, Instant now) noexcept;

  /// Called with each packet that begins to leave, its QP and the time.
  std::function<void(std::uint32_t, const transport::Packet&, Instant)> on_send;

  [[nodiscard]] SimLink& out() noexcept { return out_; }
  [[nodiscard]] const HostCounters& counters() const noexcept { return counters_; }

 private:
  friend class transport::QpScheduler<Host>;
  static constexpr bool kSendsOnPost = true;
  struct Held {
    Instant until;
    transport::Packet packet;
  };
  struct Repost {
    Instant at;
    std::uint32_t qp = 0;
    transport::Receive receive;
  };

  struct Call {
    Instant at;
    std::uint64_t number = 0;
    std::uint64_t tag = 0;
    transport::Application* application = nullptr;
    friend bool operator<(const Call& a, const Call& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  [[nodiscard]] bool port_free(Instant now) const noexcept { return port_free_at_ <= now; }
  SimLink::InFlight& draft() { return out_.draft(); }
  static bool next_packet(std::uint32_t /*qp*/, transport::QueuePair& pair, Instant now,
                          transport::Packet& packet) {
    return pair.next(now, packet);
  }
  void release(const transport::Packet& packet) { store_.release(packet.data); }
  void put_on_link(std::uint32_t qp, SimLink::InFlight& draft, Instant now);

  [[gnu::noinline]] void receive_unusual(const transport::Packet& packet, Instant now);
  /// `transmits`: the caller calls transmit() next.
  [[gnu::noinline]] void accept(const transport::Packet& packet, Instant now, bool transmits);
  [[nodiscard]] bool is_limited(const transport::Packet& packet) const noexcept;
  void hold(const transport::Packet& packet, Instant now);
  [[gnu::noinline]] void act_unusual(Instant now);
  [[nodiscard]] Instant next_unusual() const noexcept {
    const Instant held = held_.empty() ? Instant::max() : held_.front().until;
    const Instant call = calls_.empty() ? held : std::min(held, calls_.top().at);
    return reposts_.empty() ? call : std::min(call, reposts_.front().at);
  }
  void measure(const transport::Packet& packet) noexcept;
  [[nodiscard]] std::int64_t busy_ps(std::uint8_t opcode) const noexcept;

  std::uint16_t number_;
  perf::NicConfig nic_;
  double ps_per_byte_;
  bool limits_sends_, costs_;  // limits other than the rate
  bool unusual_;               // something may wait in held_, reposts_ or calls_
  // Size and time on the link of the last packet: most packets equal it.
  std::uint8_t same_opcode_ = 0;
  std::uint32_t same_payload_ = ~0u, same_bytes_ = 0;
  std::int64_t same_ps_ = 0;
  transport::Memory memory_;
  transport::PayloadStore& store_;
  SimLink& out_;
  std::vector<std::unique_ptr<transport::QueuePair>> pairs_;
  transport::Fifo<Held> held_;  // packets that the receive limit delays
  transport::Fifo<Repost> reposts_;
  std::priority_queue<Call> calls_;
  std::uint64_t calls_made_ = 0;
  std::int64_t stored_ps_ = 0;  // when the receive limit allows the next SEND packet
  std::int64_t port_free_ps_ = 0;
  Instant port_free_at_;  // port_free_ps_, rounded up to ns; Instant::max() while it is paused
  HostCounters counters_;
};

}  // namespace lw::sim

extern template class lw::transport::QpScheduler<lw::sim::Host>;

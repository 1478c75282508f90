// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <queue>
#include <vector>

#include "sim/line.h"
#include "transport/queue_pair.h"

namespace lw::sim {

/// What a NIC can do. A message or packet that costs nothing is limited by the line alone.
struct NicConfig {
  double rate_bps = 100e9;
  Duration latency{500};  // of the host and its NIC, on the way out and on the way in
  /// A QP keeps the port until its message ends, or for so many packets; 1: in turn by packets.
  /// Others' ACKs and CNPs go in between.
  std::uint32_t arbitration_burst = 256;
  Duration per_message{};       // between the first packets of two messages
  Duration per_packet{};        // between two packets
  double receive_send_bps = 0;  // payload of SENDs that it can put away; 0: the line's rate
};

struct HostCounters {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t sent_line_bytes = 0;
  std::uint64_t icrc_errors = 0;  // damaged packets, dropped
  std::uint64_t unknown_qp = 0;
  std::uint64_t metered_payload = 0;  // bytes taken in while meter() counts
};

class Host;

/// What runs on a host: told of each completion and arrival, and may post more from there.
class Application {
 public:
  virtual ~Application() = default;
  virtual void on_completion(Host& host, std::uint32_t qp, const transport::Completion& done,
                             Instant now) = 0;
};

/// An endpoint: QPs, the memory they share, and a NIC whose one port sends their packets in turn.
/// It is driven by a Simulation.
class Host {
 public:
  /// `out` and `store` outlive it.
  Host(std::uint16_t number, const NicConfig& nic, transport::Memory memory,
       transport::PayloadStore& store, Line& out);

  static constexpr std::uint32_t kFirstQpn = 0x11;
  [[nodiscard]] static constexpr std::uint32_t qpn_of(std::uint32_t qp) noexcept {
    return kFirstQpn + qp;
  }

  /// A QP; its number, QPN and host are given here: QP i of a host has QPN qpn_of(i).
  std::uint32_t add_qp(transport::QpConfig config);
  [[nodiscard]] transport::QueuePair& qp(std::uint32_t index) noexcept { return *qps_[index].pair; }
  [[nodiscard]] std::size_t qps() const noexcept { return qps_.size(); }
  [[nodiscard]] transport::Memory& memory() noexcept { return memory_; }
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }
  void run(Application& application) noexcept { application_ = &application; }

  /// False when the QP's send queue is full. Packets go out by themselves.
  bool post(std::uint32_t qp, const transport::WorkRequest& request, Instant now);
  void post(std::uint32_t qp, const transport::Receive& receive) { qps_[qp].pair->post(receive); }

  /// Counts the payload that is taken in from `from` until before `to`.
  void meter(Instant from, Instant to) noexcept {
    meter_from_ = from;
    meter_to_ = to;
  }

  // receive(), next_at() and act() are here, because each event of a simulation is one of them:
  // calls cost a packet and its ACK 30 instructions.

  /// A packet arrives; it holds the payload's slot from here.
  void receive(const transport::Packet& packet, Instant now) {
    ++counters_.received;
    if (packet.icrc_wrong || limits_sends_) [[unlikely]]
      return receive_unusual(packet, now);
    hand_over(packet, now, true);
    transmit(now);
  }
  /// When act() has something to do; Instant::max(): never by itself.
  [[nodiscard]] Instant next_at() const noexcept {
    const Instant next = wants_port() ? std::min(port_free_at_, alarm_at_) : alarm_at_;
    return limits_sends_ && !held_.empty() ? std::min(next, held_.front().until) : next;
  }
  /// Sends, receives and expires what is due.
  void act(Instant now) {
    if (limits_sends_) let_go_held(now);
    if (alarm_at_ <= now) ring_alarms(now);
    transmit(now);
  }

  [[nodiscard]] Line& out() noexcept { return out_; }
  [[nodiscard]] const HostCounters& counters() const noexcept { return counters_; }

 private:
  struct alignas(32) Slot {  // its address is a shift
    std::unique_ptr<transport::QueuePair> pair;
    bool waiting = false;            // in ready_, or keeps the port
    bool urgent = false;             // in urgent_
    Instant alarm = Instant::max();  // the earliest of its entries in alarms_
  };
  struct Alarm {
    Instant at;
    std::uint32_t qp = 0;
    friend bool operator<(const Alarm& a, const Alarm& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.qp > b.qp;
    }
  };
  struct Held {
    Instant until;
    transport::Packet packet;
  };

  [[gnu::noinline]] void receive_unusual(const transport::Packet& packet, Instant now);
  /// `alone`: transmit() comes next.
  [[gnu::noinline]] void hand_over(const transport::Packet& packet, Instant now, bool alone);
  void answer(std::uint32_t qp, Slot& slot, Instant now, bool alone);
  [[nodiscard]] bool is_limited(const transport::Packet& packet) const noexcept;
  void hold(const transport::Packet& packet, Instant now);
  void wake(std::uint32_t qp, Slot& slot) {
    if (slot.waiting) return;
    slot.waiting = true;
    ++wanting_;
    ready_.push(qp);
  }
  /// A later alarm than one that is set already is found out when that one rings.
  void set_alarm(std::uint32_t qp, Slot& slot, Instant at) {
    if (at < slot.alarm) [[unlikely]]
      add_alarm(qp, slot, at);
  }
  [[gnu::noinline]] void add_alarm(std::uint32_t qp, Slot& slot, Instant at) {
    slot.alarm = at;
    alarms_.push({at, qp});
    alarm_at_ = alarms_.top().at;
  }
  [[gnu::noinline]] void let_go_held(Instant now);
  [[gnu::noinline]] void ring_alarms(Instant now);
  void transmit(Instant now) {
    if (port_free_at_ <= now && wants_port()) transmit_all(now);
  }
  [[gnu::noinline]] void transmit_all(Instant now);
  void send(std::uint32_t qp, Instant now);
  void send_control(std::uint32_t qp, Slot& slot, Instant now);
  [[nodiscard]] bool wants_port() const noexcept { return wanting_ > 0; }
  std::uint32_t next_sender();
  void go_on(std::uint32_t qp, Slot& slot, std::uint8_t opcode);
  void measure(const transport::Packet& packet) noexcept;
  void put_on_line(Line::Flight& draft, Instant now);
  [[nodiscard]] std::int64_t busy_ps(std::uint8_t opcode) const noexcept;
  /// Hands completions or arrivals to the application, which may post more meanwhile.
  void tell_of(std::uint32_t qp, transport::Fifo<transport::Completion>& queue, Instant now);

  std::uint16_t number_;
  NicConfig nic_;
  double ps_per_byte_;
  bool limits_sends_, costs_;  // what the NIC has beside its rate
  // Most packets are like the one before, so that what it took is known.
  std::uint8_t same_opcode_ = 0;
  std::uint32_t same_payload_ = ~0u, same_bytes_ = 0;
  std::int64_t same_ps_ = 0;
  transport::Memory memory_;
  transport::PayloadStore& store_;
  Line& out_;
  Application* application_ = nullptr;
  std::vector<Slot> qps_;
  transport::Fifo<std::uint32_t> ready_;   // QPs that may have a packet, in turn
  transport::Fifo<std::uint32_t> urgent_;  // QPs with ACKs or CNPs
  std::uint32_t wanting_ = 0;              // entries in both, and the keeper
  bool keeps_port_ = false;                // one is within a message, or alone
  std::uint32_t keeper_ = 0;
  std::uint32_t burst_ = 0;  // packets that it has sent
  std::priority_queue<Alarm> alarms_;
  Instant alarm_at_ = Instant::max();  // the first of them
  transport::Fifo<Held> held_;         // by the receive limit
  Instant meter_from_ = Instant::max(), meter_to_ = Instant::max();
  std::int64_t put_away_ps_ = 0;
  std::int64_t port_free_ps_ = 0;
  Instant port_free_at_;  // the same, in whole ns
  HostCounters counters_;
};

}  // namespace lw::sim

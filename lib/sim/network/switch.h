// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/chance.h"
#include "emulator/queue/line_queue.h"
#include "sim/network/topology.h"
#include "sim/sim_link.h"

namespace lw::sim {

/// Counters of one port of a switch.
struct PortCounters {
  std::uint64_t sent = 0;
  double sent_wire_bytes = 0;  // with the part of a frame that is being sent
  std::uint64_t marked = 0;
  std::uint64_t dropped = 0;      // no room, of data and CNPs
  std::uint64_t most_bytes = 0;   // in the queue, since clear_peak()
  double byte_seconds = 0;        // bytes in the queue, over time
  std::uint64_t pauses_sent = 0;  // to the neighbour at this port
  Duration paused{};              // by that neighbour, until now
};

/// A switch of a network. Packets wait in the queue of their output port, CNPs before all others.
/// A Network calls it in the order of time; links and store outlive it.
class Switch {
 public:
  /// `outs`: the link that each port sends to; `rates`: their rates in b/s; `headroom`: of each
  /// port, in bytes, with PFC, less than the buffer in all; otherwise empty. `host_class`: see
  /// Topology; it outlives the switch.
  Switch(const SwitchConfig& config, Node node, const Routes& routes,
         std::span<const std::uint8_t> host_class, std::vector<SimLink*> outs,
         std::span<const double> rates, std::vector<std::uint64_t> headroom, std::uint64_t seed,
         transport::PayloadStore& store);

  /// A packet that arrived at port `input`. Returns its output port.
  std::uint16_t receive(std::uint16_t input, const transport::Packet& packet, Instant now);
  /// When send() has something to do at a port; Instant::max(): nothing waits.
  [[nodiscard]] Instant next_at(std::uint16_t port) const noexcept {
    return ports_[port].queue.next_event();
  }
  /// Sends what leaves the port up to `now`.
  void send(std::uint16_t port, Instant now) {
    if (next_at(port) <= now) send_due(ports_[port], now);
  }

  /// The neighbour at `port` pauses the data of that port, or lets it go on.
  void pause(std::uint16_t port, bool paused, Instant now);
  /// A pause or its end, for the neighbour at a port.
  struct PauseFrame {
    std::uint16_t port;
    bool paused;
  };
  /// Those that receive() and send() have caused. The caller clears them.
  std::vector<PauseFrame>& pauses() noexcept { return pauses_; }

  [[nodiscard]] std::uint16_t ports() const noexcept {
    return static_cast<std::uint16_t>(ports_.size());
  }
  /// Counts until `now`, not before a time of an earlier call: sends what has left by then.
  [[nodiscard]] PortCounters counters(std::uint16_t port, Instant now);
  [[nodiscard]] std::uint64_t queued_bytes(std::uint16_t port) const noexcept {
    return ports_[port].queue.bytes();
  }
  /// Since when a port with packets is paused and has sent nothing; Instant::max(): it is not.
  [[nodiscard]] Instant stalled_since(std::uint16_t port) const noexcept;
  /// The output ports where packets wait that came in at a port. Looks at all that wait.
  [[nodiscard]] std::vector<std::uint16_t> outputs_of(std::uint16_t input);
  /// Starts the search for the largest queue anew.
  void clear_peak(std::uint16_t port) noexcept {
    ports_[port].counters.most_bytes = queued_bytes(port);
  }

 private:
  struct Waiting {
    transport::Packet packet;
    std::uint16_t input;
  };
  using Queue = emulator::LineQueue<Waiting>;
  struct Port {
    Port(SimLink& link, const emulator::LineQueueConfig& config, emulator::BufferPool& pool)
        : out(&link), queue(config, &pool) {}
    SimLink* out;
    Queue queue;
    PortCounters counters;
    Instant paused_since = Instant::max();
    Instant last_sent;
    Instant measured_at;  // to which byte_seconds is counted
    // With PFC: packets in the buffer that came in at this port, by the part that they are in.
    std::uint64_t in_common = 0, in_headroom = 0;
    std::uint64_t headroom = 0;
    bool neighbour_paused = false;
  };

  [[nodiscard]] emulator::LineQueueConfig queue_config(double rate_bps, std::size_t ports) const;
  [[nodiscard]] std::uint32_t class_of(const transport::Packet& packet,
                                       std::uint16_t input) const noexcept {
    if (packet.opcode == transport::kCnpOpcode) return 0;
    const std::uint32_t of_host = data_classes_ > 1 ? host_class_[packet.from_host] : 0;
    return 1 + (config_.queue_per_input ? input * data_classes_ : 0) + of_host;
  }
  [[nodiscard]] bool marks(std::uint64_t queued) noexcept;
  static void measure(Port& port, std::uint64_t bytes, Instant now) noexcept;
  [[nodiscard]] Waiting* admit(Port& port, std::uint32_t cls, std::uint32_t bytes, Instant now);
  void send_due(Port& port, Instant now);
  void pass_on(Port& port, const Queue::SentFrame& left);
  void drop(Port& port, const transport::Packet& packet) noexcept;
  [[nodiscard]] bool fits_common(const Port& input, std::uint64_t more) const noexcept;
  [[nodiscard]] bool came_in(std::uint16_t input, std::uint32_t bytes);
  void went_out(std::uint16_t input, std::uint32_t bytes);

  SwitchConfig config_;
  std::span<const std::uint8_t> host_class_;
  std::uint32_t data_classes_;  // of data; at each port, or at each input and output port
  Node node_;
  const Routes& routes_;
  transport::PayloadStore& store_;
  Chance chance_;
  std::uint64_t draws_ = 0;
  std::uint64_t common_ = 0;  // of the buffer, for all ports: without headroom
  std::uint64_t in_common_ = 0;
  emulator::BufferPool pool_;
  std::vector<Port> ports_;
  std::vector<PauseFrame> pauses_;
};

}  // namespace lw::sim

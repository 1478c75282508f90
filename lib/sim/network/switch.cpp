// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/switch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lw::sim {

using emulator::LineQueueConfig;
using transport::Packet;

namespace {

/// Bytes of a packet's frame without FCS, as the queue counts them.
std::uint32_t frame_bytes(const Packet& packet) noexcept {
  return transport::wire_bytes(packet) - emulator::kLineOverhead;
}

/// A neighbour goes on once so much below the threshold is free: two large packets, so that it does
/// not pause and go on with each one.
constexpr std::uint64_t kHysteresis = 2 * 4200;

}  // namespace

Switch::Switch(const SwitchConfig& config, Node node, const Routes& routes,
               std::span<const std::uint8_t> host_class, std::vector<SimLink*> outs,
               std::span<const double> rates, std::vector<std::uint64_t> headroom,
               std::uint64_t seed, transport::PayloadStore& store)
    : config_(config),
      host_class_(host_class),
      data_classes_(static_cast<std::uint32_t>(std::max<std::size_t>(1, config.classes.size()))),
      node_(node),
      routes_(routes),
      store_(store),
      chance_(seed, hash_name(config.name)),
      common_(config.buffer_bytes -
              std::accumulate(headroom.begin(), headroom.end(), std::uint64_t{0})),
      pool_(config.buffer_bytes) {
  ports_.reserve(outs.size());
  for (std::size_t i = 0; i < outs.size(); ++i) {
    ports_.emplace_back(*outs[i], queue_config(rates[i], outs.size()), pool_);
    ports_.back().headroom = headroom.empty() ? 0 : headroom[i];
  }
}

/// CNPs are served before data, data as its classes say. Queues of several inputs take turns.
LineQueueConfig Switch::queue_config(double rate_bps, std::size_t ports) const {
  constexpr std::uint32_t kQuantum = 4200;  // a large packet
  LineQueueConfig queue{.rate_bps = static_cast<std::uint64_t>(rate_bps),
                        .buffer_bytes = config_.buffer_bytes,
                        .quantum_bytes = kQuantum};
  queue.classes.resize(1 + data_classes_ * (config_.queue_per_input ? ports : 1));
  queue.classes[0].order.priority = kCnpPriority;
  if (!config_.classes.empty())
    for (std::size_t c = 1; c < queue.classes.size(); ++c)
      queue.classes[c].order = config_.classes[(c - 1) % data_classes_];
  // With PFC, what came in at a port is limited, not what leaves at another.
  if (!config_.pause)
    for (auto& c : queue.classes) c.buffer.alpha = config_.threshold();
  return queue;
}

std::uint16_t Switch::receive(std::uint16_t input, const Packet& packet, Instant now) {
  const std::uint16_t output = routes_.choose(node_, packet);
  Port& port = ports_[output];
  send(output, now);
  const std::uint32_t bytes = frame_bytes(packet), cls = class_of(packet, input);
  const bool marked = config_.marking && cls > 0 && !config_.marking->on_leaving &&
                      marks(port.queue.bytes(cls)) && !packet.congestion_experienced;
  measure(port, port.queue.bytes(), now);
  const bool counted = config_.pause && came_in(input, bytes);
  Waiting* const place = config_.pause && !counted ? nullptr : admit(port, cls, bytes, now);
  if (!place) {
    if (counted) went_out(input, bytes);
    drop(port, packet);
    return output;
  }
  place->packet = packet;
  place->input = input;
  if (marked) {
    place->packet.congestion_experienced = true;
    ++port.counters.marked;
  }
  port.counters.most_bytes = std::max(port.counters.most_bytes, port.queue.bytes());
  return output;
}

/// Finds room for a packet, whose place the caller fills; null: there is none. If the buffer is
/// full, other ports may still hold packets in it that have left by now.
Switch::Waiting* Switch::admit(Port& port, std::uint32_t cls, std::uint32_t bytes, Instant now) {
  if (Waiting* const place = port.queue.admit(cls, bytes, now)) return place;
  for (std::uint16_t other = 0; other < ports(); ++other) send(other, now);
  return port.queue.admit(cls, bytes, now);
}

void Switch::send_due(Port& port, Instant now) {
  while (port.queue.depart(now, [&](const Queue::SentFrame& left) { pass_on(port, left); }))
    continue;
}

/// Puts a packet that has left the queue on the link.
void Switch::pass_on(Port& port, const Queue::SentFrame& left) {
  measure(port, left.in_queue_bytes + left.bytes, left.times.departs);
  SimLink::InFlight& draft = port.out->draft();
  draft.packet = left.handle.packet;
  if (config_.marking && left.cls > 0 && config_.marking->on_leaving &&
      !draft.packet.congestion_experienced && marks(left.behind_bytes)) {
    draft.packet.congestion_experienced = true;
    ++port.counters.marked;
  }
  port.last_sent = left.times.departs;
  ++port.counters.sent;
  port.counters.sent_wire_bytes += left.bytes + emulator::kLineOverhead;
  constexpr std::int64_t kPsPerNs = 1000;
  port.out->enter(draft, to_ns(left.times.departs) * kPsPerNs);
  if (config_.pause) went_out(left.handle.input, left.bytes);
}

/// Counts the bytes that were in the queue since the last call.
void Switch::measure(Port& port, std::uint64_t bytes, Instant now) noexcept {
  const auto seconds = static_cast<double>((now - port.measured_at).count()) * 1e-9;
  port.counters.byte_seconds += static_cast<double>(bytes) * seconds;
  port.measured_at = now;
}

bool Switch::marks(std::uint64_t queued) noexcept {
  const double probability = config_.marking->probability(static_cast<double>(queued));
  if (probability <= 0) return false;
  return probability >= 1 || chance_.uniform(draws_++) < probability;
}

void Switch::drop(Port& port, const Packet& packet) noexcept {
  ++port.counters.dropped;
  store_.release(packet.data);
}

/// With PFC: whether `more` bytes that came in at a port fit into what all ports have in common.
bool Switch::fits_common(const Port& input, std::uint64_t more) const noexcept {
  if (in_common_ + more > common_) return false;
  const auto free = static_cast<double>(common_ - in_common_);
  return static_cast<double>(input.in_common + more) <= config_.threshold() * free;
}

/// With PFC: finds room for a packet. One that is not in the common part is in the headroom of its
/// port, and the port's neighbour pauses. Returns false if there is no room.
bool Switch::came_in(std::uint16_t number, std::uint32_t bytes) {
  Port& input = ports_[number];
  if (fits_common(input, bytes)) {
    input.in_common += bytes;
    in_common_ += bytes;
    return true;
  }
  if (input.in_headroom + bytes > input.headroom) return false;
  input.in_headroom += bytes;
  if (input.neighbour_paused) return true;
  input.neighbour_paused = true;
  ++input.counters.pauses_sent;
  pauses_.push_back({number, true});
  return true;
}

/// Frees the headroom first. The neighbour goes on once it is empty and the common part has room.
void Switch::went_out(std::uint16_t number, std::uint32_t bytes) {
  Port& input = ports_[number];
  const std::uint64_t of_headroom = std::min<std::uint64_t>(input.in_headroom, bytes);
  input.in_headroom -= of_headroom;
  input.in_common -= bytes - of_headroom;
  in_common_ -= bytes - of_headroom;
  if (!input.neighbour_paused || input.in_headroom > 0) return;
  if (input.in_common > 0 && !fits_common(input, kHysteresis)) return;
  input.neighbour_paused = false;
  pauses_.push_back({number, false});
}

void Switch::pause(std::uint16_t number, bool paused, Instant now) {
  send(number, now);
  Port& port = ports_[number];
  const std::size_t classes = data_classes_ * (config_.queue_per_input ? ports_.size() : 1);
  for (std::uint32_t c = 1; c <= classes; ++c)
    port.queue.pause(c, now, paused ? Queue::kNever : now);
  if (paused) {
    port.paused_since = now;
  } else if (port.paused_since != Instant::max()) {
    port.counters.paused += now - port.paused_since;
    port.paused_since = Instant::max();
  }
}

Instant Switch::stalled_since(std::uint16_t number) const noexcept {
  const Port& port = ports_[number];
  if (port.paused_since == Instant::max() || port.queue.size() == 0) return Instant::max();
  return std::max(port.last_sent, port.paused_since);
}

std::vector<std::uint16_t> Switch::outputs_of(std::uint16_t input) {
  std::vector<std::uint16_t> outputs;
  for (std::uint16_t output = 0; output < ports(); ++output) {
    bool holds = false;
    ports_[output].queue.for_each([&](const Waiting& each) { holds |= each.input == input; });
    if (holds) outputs.push_back(output);
  }
  return outputs;
}

PortCounters Switch::counters(std::uint16_t number, Instant now) {
  send(number, now);
  PortCounters counters = ports_[number].counters;
  const Port& port = ports_[number];
  counters.sent_wire_bytes += port.queue.sent_part(now);
  if (port.paused_since < now) counters.paused += now - port.paused_since;
  const auto since = static_cast<double>((now - port.measured_at).count()) * 1e-9;
  counters.byte_seconds += static_cast<double>(port.queue.bytes()) * since;
  return counters;
}

}  // namespace lw::sim

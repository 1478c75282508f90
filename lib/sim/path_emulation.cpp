// SPDX-License-Identifier: BSD-3-Clause
#include "sim/path_emulation.h"

#include <algorithm>
#include <span>

#include "roce/frame.h"
#include "transport/packet.h"

namespace lw::sim {

using emulator::Action;
using emulator::Decision;
using emulator::Stage;
using transport::Packet;

namespace {

/// Whether the headers differ at most in the fields that PacketHeaders::of() writes.
bool alike(const Packet& a, const Packet& b) noexcept {
  return a.opcode == b.opcode && a.payload == b.payload &&
         a.congestion_experienced == b.congestion_experienced &&
         a.solicited_event == b.solicited_event && a.word == b.word && a.swap_add == b.swap_add;
}

bool between_same_hosts(const Packet& a, const Packet& b) noexcept {
  return a.from_host == b.from_host && a.to_host == b.to_host;
}

std::size_t hash_of(const Packet& p) noexcept {
  const std::uint64_t mixed = (std::uint64_t{p.opcode} << 16 ^ p.payload) * 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(mixed >> 40);
}

/// A writable header of a frame in the caller's own bytes; null stays null.
template <class Header>
Header* writable(const Header* header) noexcept {
  return const_cast<Header*>(header);
}

}  // namespace

void PacketHeaders::compose(Headers& headers, const Packet& packet) {
  headers.like = packet;
  const std::vector<std::byte> frame = transport::to_frame(packet);
  const std::span<const std::byte> all(frame);
  const auto kept = all.first(std::min(frame.size(), kHeaderBytes));
  headers.bytes.assign(kept.begin(), kept.end());
  headers.envelope = roce::open_envelope(headers.bytes, frame.size());
  const roce::Frame parsed = *roce::parse(headers.envelope);
  headers.ethernet = writable(headers.envelope.ethernet);
  headers.ipv4 = writable(headers.envelope.ipv4);
  headers.udp = writable(headers.envelope.udp);
  headers.bth = writable(parsed.bth);
  headers.deth = writable(parsed.deth);
  headers.reth = writable(parsed.reth);
  headers.atomiceth = writable(parsed.atomiceth);
  headers.aeth = writable(parsed.aeth);
}

void PacketHeaders::set_addresses(Headers& headers, const Packet& packet) {
  headers.like.from_host = packet.from_host;
  headers.like.to_host = packet.to_host;
  headers.ethernet->source = transport::mac_of(packet.from_host);
  headers.ethernet->destination = transport::mac_of(packet.to_host);
  headers.ipv4->source = transport::ip_of(packet.from_host);
  headers.ipv4->destination = transport::ip_of(packet.to_host);
  headers.ipv4->checksum.set(
      wire::ipv4_checksum(std::as_bytes(std::span<const wire::Ipv4>(headers.ipv4, 1))));
}

/// Returns the slot with the packet's headers; otherwise an empty slot, or any slot of its set.
PacketHeaders::Headers& PacketHeaders::place_of(const Packet& packet) {
  const std::span ways = std::span(places_).subspan(hash_of(packet) % kSets * kWays, kWays);
  const auto place = std::ranges::find_if(
      ways, [&](const Headers& h) { return h.bth == nullptr || alike(h.like, packet); });
  return place != ways.end() ? *place : ways[packet.psn.value() % kWays];
}

const roce::Envelope& PacketHeaders::of(const Packet& packet) {
  Headers& headers = place_of(packet);
  if (headers.bth == nullptr || !alike(headers.like, packet)) {
    compose(headers, packet);
  } else if (!between_same_hosts(headers.like, packet)) {
    set_addresses(headers, packet);
  }
  headers.udp->source_port.set(transport::source_port_of(packet));
  headers.bth->dest_qp.set(packet.dest_qp);
  headers.bth->set_psn(packet.psn);
  headers.bth->set_ack_req(packet.ack_req);
  if (headers.aeth) headers.aeth->set({packet.syndrome, packet.msn});
  if (headers.reth) headers.reth->set({packet.va, packet.r_key, packet.length});
  if (headers.deth) headers.deth->src_qp.set(packet.source_qp);
  if (headers.atomiceth)
    headers.atomiceth->set({packet.va, packet.r_key, packet.swap_add, packet.compare});
  return headers.envelope;
}

PathEmulation::PathEmulation(const perf::PathRules& rules, emulator::Direction direction,
                             std::uint64_t seed)
    : pipeline_(direction, seed, rules.rules, rules.events) {
  const std::size_t names = pipeline_.rule_names().size();
  while (held_.size() < names) held_.emplace_back(emulator::HoldConfig{});
  for (std::size_t i = 0; i < pipeline_.rules().size(); ++i) {
    const auto reorder = pipeline_.configs()[i].reorder.value_or(emulator::ReorderConfig{});
    held_[pipeline_.rules()[i].index()] =
        emulator::Held<Entry>({.frames = reorder.frames, .at_most = reorder.at_most});
  }
}

void PathEmulation::enter(const Packet& packet, std::uint64_t number, Instant now) {
  out_.clear();
  const emulator::IngressFrame arrival = emulator::arrival_of(headers_.of(packet), number, now);
  Decision decision = pipeline_.decide(arrival);
  pipeline_.rule(decision.rule).pass_queue(decision, arrival);
  apply(packet, decision, now);
  for (unsigned copy = 1; copy <= decision.copies; ++copy) {
    ++counters_.duplicated;
    Packet twin = packet;
    twin.icrc_wrong = packet.icrc_wrong || decision.corrupt;
    emulator::Rule& rule = pipeline_.rule(decision.rule);
    Decision own = rule.decide_copy(arrival, decision, copy);
    rule.pass_queue(own, arrival, copy);
    apply(twin, own, now);
  }
}

void PathEmulation::count_drop(Stage stage) noexcept {
  ++(stage == Stage::queue ? counters_.tail_dropped : counters_.lost);
}

void PathEmulation::apply(Packet packet, const Decision& decision, Instant now) {
  if (decision.action == Action::drop) return count_drop(decision.stage);
  if (decision.corrupt) {
    ++counters_.corrupted;
    packet.icrc_wrong = true;
  }
  if (decision.mark) {
    ++counters_.marked;
    packet.congestion_experienced = true;
  }
  const Instant at = decision.action == Action::pass ? now : decision.release;
  if (decision.overtakes) return overtake(packet, decision, at);
  out_.push_back({packet, at});
}

/// Releases the held packets that this packet is the last to overtake: they leave right after it.
void PathEmulation::overtake(const Packet& packet, const Decision& decision, Instant at) {
  emulator::Held<Entry>& held = held_[decision.rule];
  held.gone_on();
  if (decision.action == Action::hold) {
    ++counters_.delayed;
    held.hold({.due = at, .packet = packet});
    ++held_packets_;
  } else {
    out_.push_back({packet, at});
  }
  for (; !held.empty() && held.overtaken(); held.pop(), --held_packets_)
    out_.push_back({held.front().packet, std::max(held.front().due, at)});
}

std::size_t PathEmulation::first_held() const noexcept {
  std::size_t first = held_.size();
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (!held_[i].empty() &&
        (first == held_.size() || held_[i].deadline() < held_[first].deadline()))
      first = i;
  return first;
}

Instant PathEmulation::next_deadline() const noexcept {
  return held_packets_ == 0 ? Instant::max() : held_[first_held()].deadline();
}

Packet PathEmulation::take_held() {
  emulator::Held<Entry>& held = held_[first_held()];
  const Packet packet = held.front().packet;
  held.pop();
  --held_packets_;
  return packet;
}

}  // namespace lw::sim

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: counting, refusals, and reports of what is inside.
#include "emulator/link.h"

namespace lw::emulator {

/// Returns true if the frame, or the IP packet by its own length, ends within an IP or UDP header.
inline bool is_cut(const roce::Envelope& e) noexcept {
  const std::size_t left = e.bytes.size() - std::min(e.bytes.size(), e.network_offset);
  if (e.ether_type == wire::kEtherTypeIpv4 && left < sizeof(wire::Ipv4)) return true;
  if (e.ether_type == wire::kEtherTypeIpv6 && left < sizeof(wire::Ipv6)) return true;
  return (e.ipv4 || e.ipv6) && e.protocol == wire::kProtocolUdp && !e.udp;
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::receive(const Decision& decision, const IngressFrame& arrival) noexcept {
  direction_.received.add(arrival.bytes);
  counters_of(decision.rule).received.add(arrival.bytes);
  if (arrival.bth) return;
  if (arrival.envelope.fragment) {
    fragments_.add();
  } else if (is_cut(arrival.envelope) || (arrival.envelope.udp && arrival.envelope.is_roce())) {
    truncated_.add();
  }
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::count_want(ResourceDrop want, RuleIndex rule,
                                      std::uint32_t bytes) noexcept {
  const auto index = static_cast<std::size_t>(want);
  direction_.dropped_for_resource[index].add(bytes);
  counters_of(rule).dropped_for_resource[index].add(bytes);
}

/// Refuses a frame for which there is no room. Always returns false.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::refuse(ResourceDrop want, Disposition disposition,
                                  const IngressFrame& arrival, const Decision& decision,
                                  std::uint8_t copy) noexcept {
  count_want(want, decision.rule, arrival.bytes);
  ledger_.log(ledger_.open(arrival, decision, copy), disposition);
  if (copy == 0) refusal_ = disposition;
  return false;
}

/// Refuses a frame that no rule has seen, and counts it with the unmatched frames. Always returns
/// false.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::refuse_unseen(ResourceDrop want, Disposition disposition,
                                         const roce::Envelope& envelope, Instant now,
                                         LedgerRecord* record) noexcept {
  const IngressFrame arrival = arrival_of(envelope, received_++, now);
  const Decision decision;
  receive(decision, arrival);
  if (record) *record = ledger_.open(arrival, decision);
  if (record) record->disposition = disposition;
  return refuse(want, disposition, arrival, decision, 0);
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::turn_away(const roce::Envelope& envelope, Instant now,
                                     LedgerRecord* record) noexcept {
  refuse_unseen(ResourceDrop::link_down, Disposition::link_down, envelope, now, record);
}

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::consume(const roce::Envelope& envelope, Instant now,
                                   LedgerRecord* record) noexcept {
  const IngressFrame arrival = arrival_of(envelope, received_++, now);
  const Decision decision;
  receive(decision, arrival);
  direction_.consumed.add(arrival.bytes);
  counters_of(kUntouched).consumed.add(arrival.bytes);
  LedgerRecord consumed = ledger_.open(arrival, decision);
  ledger_.log(consumed, Disposition::consumed);
  consumed.disposition = Disposition::consumed;
  if (record) *record = consumed;
  return false;
}

template <class Handle, FrameAccess<Handle> Frames>
template <class View, class Drop>
void Link<Handle, Frames>::lose_egress(View view, Drop drop) noexcept {
  empty_egress([&](const Transit& transit, Handle handle) {
    count_want(ResourceDrop::link_down, transit.rule_index(), transit.byte_count());
    log_lost(transit, view(handle), Disposition::link_down);
    drop(handle);
  });
}

template <class Handle, FrameAccess<Handle> Frames>
template <class View, class Drop>
void Link<Handle, Frames>::abandon(View view, Drop drop) noexcept {
  const auto give_back = [&](const Transit& transit, Handle handle) {
    count_want(ResourceDrop::stopped, transit.rule_index(), transit.byte_count());
    log_lost(transit, view(handle), Disposition::stopped);
    drop(handle);
  };
  empty_egress(give_back);
  part_trains();
  for (; queue_.size() > 0; queue_.pop()) {
    const Entry entry = queue_.front();
    give_back(entry.transit(), entry.handle);
  }
  for (Held<Entry>& held : held_)
    for (; !held.empty(); held.pop(), --held_frames_)
      give_back(held.front().transit(), held.front().handle);
  for (Ring<Entry>& waiting : waiting_)
    for (; !waiting.empty(); waiting.pop(), --waiting_frames_)
      give_back(waiting.front().transit(), waiting.front().handle);
  for (const auto& queue : pipeline_.queues())
    queue->frames.for_each([](RulesQueue::Waiting& frame) { frame.rule = kUntouched; });
  find_departure();
  find_deadline();
}

/// Logs the frames of a train that was admitted in a burst, with their lengths.
template <class Handle, FrameAccess<Handle> Frames>
std::uint32_t Link<Handle, Frames>::length_of(Handle handle) noexcept {
  if constexpr (requires { Frames::length(handle); }) return Frames::length(handle);
  std::unreachable();
}

/// Returns the Transit of frame i of a train, as a train of one.
template <class Handle, FrameAccess<Handle> Frames>
Transit Link<Handle, Frames>::single(const Transit& train, std::size_t i, Handle handle) noexcept {
  if (train.frames() == 1) return train;
  Transit one = train;
  one.skip(i);
  one.set_frames(1);
  one.set_bytes(length_of(handle));
  return one;
}

/// Splits trains, so that each waiting frame carries its own Transit.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::part_trains() noexcept {
  Transit train;
  std::size_t seen = train.frames();
  queue_.for_each_on_lines([&](Entry& entry) {
    if (seen == train.frames()) {
      train = entry.transit();
      seen = 0;
    }
    entry.transit() = single(train, seen++, entry.handle);
  });
}

/// Calls `give(transit, handle)` for each frame.
template <class Handle, FrameAccess<Handle> Frames>
template <class Give>
void Link<Handle, Frames>::empty_egress(Give give) noexcept {
  for (; !leaving_.empty(); leaving_.pop()) {
    const Transit train = leaving_.front().transit;
    for (std::size_t i = 0; i < train.frames(); ++i, egress_.pop())
      give(single(train, i, egress_.front()), egress_.front());
  }
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::log_lost(const Transit& transit, const roce::Envelope& envelope,
                                    Disposition disposition) noexcept {
  if (transit.logged) return ledger_.close(slot_of(transit), disposition);
  if (transit.logged_late) {
    LedgerRecord record = record_of(transit, number_of(transit), pipeline_.direction());
    LoggedBth(bth_of(envelope)).put_into(record);
    return ledger_.log(record, disposition);
  }
  Decision decision;
  decision.rule = transit.rule_index();
  const IngressFrame arrival = arrival_of(envelope, transit.full_number(received_), transit.in());
  ledger_.log(ledger_.open(arrival, decision, transit.copy), disposition);
}

template <class Handle, FrameAccess<Handle> Frames>
Accounting Link<Handle, Frames>::outside_accounting() const {
  Accounting accounting;
  accounting.direction = direction_.account(std::string(name_of(pipeline_.direction())));
  const auto& names = pipeline_.rule_names();
  accounting.rules.reserve(names.size() + 1);
  for (std::size_t i = 0; i < names.size(); ++i)
    accounting.rules.push_back(rules_[i].account(names[i]));
  accounting.rules.push_back(rules_.back().account("untouched"));
  accounting.fragments = fragments_.get();
  accounting.truncated = truncated_.get();
  return accounting;
}

template <class Handle, FrameAccess<Handle> Frames>
Accounting Link<Handle, Frames>::running_accounting() const {
  Accounting accounting = outside_accounting();
  accounting.direction.in_flight = accounting.direction.remainder();
  for (Account& rule : accounting.rules) rule.in_flight = rule.remainder();
  return accounting;
}

template <class Handle, FrameAccess<Handle> Frames>
Accounting Link<Handle, Frames>::accounting() const {
  Accounting accounting = outside_accounting();
  const auto count = [&](const Transit& transit) {
    const Amount train{transit.frames(), transit.bytes};
    accounting.direction.in_flight += train;
    accounting.rules[transit.rule == kUntouched ? accounting.rules.size() - 1 : transit.rule]
        .in_flight += train;
  };
  std::size_t followers = 0;
  queue_.for_each([&](const auto& entry) {
    if (followers > 0) return void(--followers);
    count(entry.transit());
    followers = entry.transit().followers;
  });
  for (const auto& held : held_)
    for (std::size_t i = 0; i < held.size(); ++i) count(held[i].transit());
  for (const auto& waiting : waiting_)
    for (std::size_t i = 0; i < waiting.size(); ++i) count(waiting[i].transit());
  for (std::size_t i = 0; i < leaving_.size(); ++i) count(leaving_[i].transit);
  return accounting;
}

}  // namespace lw::emulator

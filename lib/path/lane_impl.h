// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// lane.h's other half: what its functions do.
#include "path/lane.h"

namespace lw::path {

template <class Handle>
Lane<Handle>::Lane(Pipeline pipeline, const LaneConfig& config, LedgerSink* sink)
    : pipeline_(std::move(pipeline)),
      queue_(pipeline_.lines().size(), config.capacity),
      egress_(config.egress_capacity),
      egress_transits_(config.egress_capacity),
      ledger_(sink, config.log_all, pipeline_.direction(),
              config.capacity + std::bit_ceil(config.egress_capacity)),
      rules_(pipeline_.rule_names().size() + 1) {}

template <class Handle>
bool Lane<Handle>::admit(Handle handle, const roce::Envelope& envelope, Instant now) noexcept {
  const std::uint64_t number = received_++;
  const auto bytes = static_cast<std::uint32_t>(envelope.wire_length);
  const wire::Bth* bth = bth_of(envelope);
  const Decision decision = pipeline_.decide(bth, number, now);
  receive(decision, envelope, bth, bytes);
  if (decision.action == Action::drop) {
    direction_.dropped_by_rule.add(bytes);
    of(decision.rule).dropped_by_rule.add(bytes);
    ledger_.log(ledger_.open(number, now, decision, bth), Fate::dropped);
    return false;
  }
  const bool queued = decision.action == Action::queue;
  Transit transit{.in = now,
                  .due = queued ? decision.release : now,
                  .number = number,
                  .bytes = bytes,
                  .rule = decision.rule,
                  .queued = queued};
  const bool has_room = queued ? queue_.size() < queue_.capacity() : egress_.room() > 0;
  if (!has_room) [[unlikely]] {
    const Want want = queued ? Want::no_room : Want::egress_full;
    refuse(want, transit);
    ledger_.log(ledger_.open(number, now, decision, bth),
                queued ? Fate::no_room : Fate::egress_full);
    return false;
  }
  if (ledger_.all()) transit.ledger_slot = ledger_.keep(ledger_.open(number, now, decision, bth));
  return place(handle, decision, transit);
}

template <class Handle>
bool Lane<Handle>::place(Handle handle, const Decision& decision, const Transit& transit) noexcept {
  if (transit.queued) return queue_.push(decision.line, transit, handle);
  egress_.push(handle);
  egress_transits_.push(transit);
  return true;
}

template <class Handle>
void Lane<Handle>::receive(const Decision& decision, const roce::Envelope& envelope,
                           const wire::Bth* bth, std::uint32_t bytes) noexcept {
  direction_.received.add(bytes);
  of(decision.rule).received.add(bytes);
  if (bth) return;
  if (envelope.fragment) {
    fragments_.add();
  } else if (envelope.udp && envelope.is_roce()) {
    truncated_.add();
  }
}

template <class Handle>
void Lane<Handle>::refuse(Want want, const Transit& transit) noexcept {
  const auto index = static_cast<std::size_t>(want);
  direction_.dropped_for_want[index].add(transit.bytes);
  of(transit.rule).dropped_for_want[index].add(transit.bytes);
}

template <class Handle>
void Lane<Handle>::release(Instant now, std::size_t spare) noexcept {
  while (queue_.next() <= now && egress_.room() > spare) {
    const auto& entry = queue_.front();
    egress_.push(entry.handle);
    egress_transits_.push(entry.transit);
    queue_.pop();
  }
}

template <class Handle>
void Lane<Handle>::sent(std::size_t count, Instant now) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const Transit& transit = egress_transits_[i];
    direction_.sent.add(transit.bytes);
    of(transit.rule).sent.add(transit.bytes);
    (transit.queued ? release_error_ : pass_latency_).add((now - transit.due).count());
    if (transit.ledger_slot != kNotLogged) ledger_.close(transit.ledger_slot, now);
  }
  egress_.pop(count);
  egress_transits_.pop(count);
}

template <class Handle>
template <class View, class Drop>
void Lane<Handle>::abandon(View view, Drop drop) noexcept {
  const auto give_back = [&](const Transit& transit, Handle handle) {
    refuse(Want::stopped, transit);
    log_stopped(transit, view(handle));
    drop(handle);
  };
  for (; !egress_.empty(); egress_.pop(), egress_transits_.pop())
    give_back(egress_transits_.front(), egress_.front());
  for (; queue_.size() > 0; queue_.pop()) give_back(queue_.front().transit, queue_.front().handle);
}

template <class Handle>
void Lane<Handle>::log_stopped(const Transit& transit, const roce::Envelope& envelope) noexcept {
  if (transit.ledger_slot != kNotLogged) return ledger_.close(transit.ledger_slot, Fate::stopped);
  const Decision decision{.rule = transit.rule};
  ledger_.log(ledger_.open(transit.number, transit.in, decision, bth_of(envelope)), Fate::stopped);
}

template <class Handle>
Books Lane<Handle>::books() const {
  Books books;
  books.direction = direction_.account(std::string(name_of(pipeline_.direction())));
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const bool last = i + 1 == rules_.size();
    books.rules.push_back(rules_[i].account(last ? "untouched" : pipeline_.rule_names()[i]));
  }
  const auto count = [&](const Transit& transit) {
    const Amount one{1, transit.bytes};
    books.direction.in_flight += one;
    books.rules[transit.rule == kUntouched ? rules_.size() - 1 : transit.rule].in_flight += one;
  };
  queue_.for_each([&](const auto& entry) { count(entry.transit); });
  for (std::size_t i = 0; i < egress_transits_.size(); ++i) count(egress_transits_[i]);
  books.fragments = fragments_.get();
  books.truncated = truncated_.get();
  return books;
}

}  // namespace lw::path

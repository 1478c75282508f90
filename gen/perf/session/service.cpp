// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/service.h"

#include <algorithm>

#include "nic/clock.h"

namespace lw::gen {

using transport::Completion;
using wire::Operation;

Service::Service(Connection& connection, const Terms& terms)
    : connection_(connection),
      terms_(terms),
      places_(connection.qpn(), terms),
      theirs_(Author::client, terms.size),
      ours_(Author::responder, terms.size) {
  for (std::uint32_t slot = 0; slot < terms.slots; ++slot) {
    ours_.write(connection.memory().bytes(places_.outbox(slot), terms.size), slot);
  }
  if (terms.operation == Operation::send || terms.immediate) {
    for (std::uint32_t i = 0; i < terms.depth; ++i) post_receive(i);
  }
  connection.run(*this);
}

/// A SEND's number is also its receive's, so it finds its slot.
void Service::post_receive(std::uint64_t number) {
  connection_.pair().post(places_.receive(number));
}

void Service::on_completion(Connection& /*connection*/, const Completion& done) {
  if (!done.arrival) return;  // an echo's: the client sees whether it came
  check(done);
  if (done.operation == Operation::send || done.immediate) post_receive(done.id + terms_.depth);
  if (terms_.echo) echo();
  ++arrived_;
}

void Service::check(const Completion& arrival) {
  bytes_ += arrival.length;
  const bool right = arrival.length == terms_.size && arrival.operation == terms_.operation &&
                     (terms_.lossy() ? is_some(arrival) : is_next());
  if (!right) ++wrong_;
}

/// All come, in order.
bool Service::is_next() {
  const auto message = connection_.memory().bytes(places_.inbox(arrived_), terms_.size);
  return theirs_.holds(message, arrived_, terms_.slots, terms_.depth);
}

/// Some come. Their place is emptied, so that nothing of one passes for a part of another.
bool Service::is_some(const Completion& arrival) {
  const std::uint64_t place = arrival.operation == Operation::send ? arrival.id : 0;
  const auto message = connection_.memory().bytes(places_.inbox(place), terms_.size);
  const std::uint64_t number = theirs_.number_of(message);
  const bool whole = theirs_.holds(message, number);
  if (whole && numbers_.take(number).kind == Arrival::Kind::duplicate) ++copies_;
  std::ranges::fill(message, std::byte{});
  return whole;
}

void Service::echo() {
  ours_.number(connection_.memory().bytes(places_.outbox(arrived_), terms_.size), arrived_);
  connection_.pair().post({.operation = terms_.operation,
                           .immediate = terms_.immediate,
                           .length = terms_.size,
                           .local_va = places_.outbox(arrived_),
                           .remote_va = terms_.va,
                           .r_key = terms_.r_key},
                          nic::now());
}

Findings Service::findings() const noexcept {
  const auto& counters = connection_.pair().responder_counters();
  Findings findings{.checked = arrived_,
                    .wrong = wrong_,
                    .duplicates = terms_.lossy() ? copies_ : counters.duplicates,
                    .out_of_sequence = counters.out_of_sequence,
                    .cnps = connection_.pair().cnps_sent(),
                    .dropped = counters.dropped};
  if (terms_.operation != Operation::fetch_add) return findings;
  // Each atomic added one to what was 0: done once, and no less.
  findings.checked = counters.packets;
  findings.wrong = connection_.memory().load(places_.inbox()) == counters.packets ? 0 : 1;
  return findings;
}

}  // namespace lw::gen

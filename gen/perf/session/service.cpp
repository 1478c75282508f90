// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/service.h"

#include <algorithm>

#include "nic/clock.h"

namespace lw::gen {

using transport::Completion;
using wire::Operation;

Service::Service(Connection& connection, const SessionParams& params)
    : connection_(connection),
      params_(params),
      layout_(connection.qpn(), params),
      received_pattern_(Side::client, params.size),
      sent_pattern_(Side::responder, params.size) {
  for (std::uint32_t slot = 0; slot < params.slots; ++slot) {
    sent_pattern_.write(connection.memory().bytes(layout_.outbox(slot), params.size), slot);
  }
  if (params.operation == Operation::send || params.immediate) {
    for (std::uint32_t i = 0; i < params.depth; ++i) post_receive(i);
  }
  connection.run(*this);
}

/// The receive has the number, and so the slot, of the SEND that it is for.
void Service::post_receive(std::uint64_t number) { connection_.post(layout_.receive(number)); }

void Service::on_completion(transport::QpSet& /*qps*/, std::uint32_t /*qp*/, const Completion& done,
                            Instant /*now*/) {
  if (!done.arrival) return;  // an echo's: the client checks it
  check(done);
  if (done.operation == Operation::send || done.immediate) post_receive(done.id + params_.depth);
  if (params_.echo) echo();
  ++arrived_;
}

void Service::check(const Completion& arrival) {
  bytes_ += arrival.length;
  const bool right = arrival.length == params_.size && arrival.operation == params_.operation &&
                     (params_.lossy() ? is_some(arrival) : is_next());
  if (!right) ++wrong_;
}

/// Checks a message of a reliable connection: all arrive in order.
bool Service::is_next() {
  const auto message = connection_.memory().bytes(layout_.inbox(arrived_), params_.size);
  return received_pattern_.holds(message, arrived_, params_.slots, params_.depth);
}

/// Checks a message of a lossy connection. Clears its slot, so that no old byte passes for a new
/// one.
bool Service::is_some(const Completion& arrival) {
  const std::uint64_t place = arrival.operation == Operation::send ? arrival.id : 0;
  const auto message = connection_.memory().bytes(layout_.inbox(place), params_.size);
  const std::uint64_t number = received_pattern_.number_of(message);
  const bool whole = received_pattern_.holds(message, number);
  if (whole && numbers_.take(number).kind == Arrival::Kind::duplicate) ++copies_;
  std::ranges::fill(message, std::byte{});
  return whole;
}

void Service::echo() {
  sent_pattern_.number(connection_.memory().bytes(layout_.outbox(arrived_), params_.size),
                       arrived_);
  connection_.post({.operation = params_.operation,
                    .immediate = params_.immediate,
                    .length = params_.size,
                    .local_va = layout_.outbox(arrived_),
                    .remote_va = params_.va,
                    .r_key = params_.r_key},
                   nic::now());
}

ServerStats Service::stats() const noexcept {
  const auto& counters = connection_.pair().responder_counters();
  ServerStats stats{.checked = arrived_,
                    .wrong = wrong_,
                    .duplicates = params_.lossy() ? copies_ : counters.duplicates,
                    .out_of_sequence = counters.out_of_sequence,
                    .cnps = connection_.pair().cnps_sent(),
                    .dropped = counters.dropped};
  if (params_.operation != Operation::fetch_add) return stats;
  // Each atomic adds one to an initial 0, exactly once.
  stats.checked = counters.packets;
  stats.wrong = connection_.memory().load(layout_.inbox()) == counters.packets ? 0 : 1;
  return stats;
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/traffic/client_lane.h"

namespace lw::gen {

using transport::Completion;
using wire::Operation;

ClientLane::ClientLane(const Dialled& dialled)
    : connection_(*dialled.connection),
      terms_(dialled.terms),
      offer_(dialled.offer),
      places_(connection_.qpn(), terms_),
      ours_(Author::client, terms_.size),
      theirs_(Author::responder, terms_.size) {
  for (std::uint32_t slot = 0; slot < terms_.slots; ++slot) {
    ours_.write(memory(places_.outbox(slot)), slot);
  }
}

bool ClientLane::post(Instant now) {
  const transport::QueuePair& pair = connection_.pair();
  // A message that still waits keeps its place as it is.
  if (pair.requester().posted() >= pair.config().tx_depth) return false;
  const std::uint64_t n = posted_;
  // Where messages may be lost, nobody could tell which one a place has: all go to the first.
  const std::uint64_t offset = terms_.lossy() ? 0 : places_.inbox(n) - places_.inbox();
  const bool atomic = terms_.operation == Operation::fetch_add;
  const bool read = terms_.operation == Operation::read_request;
  if (carries()) ours_.number(memory(places_.outbox(n)), n);
  // An old answer mustn't pass for a new one; unless another is on its way to the same place.
  if (read && terms_.slots >= terms_.depth) theirs_.number(memory(places_.inbox(n)), ~n);
  const bool taken =
      connection_.pair().post({.id = n,
                               .operation = terms_.operation,
                               .immediate = terms_.immediate,
                               .length = terms_.size,
                               .word = static_cast<std::uint32_t>(n),
                               .dest_qp = connection_.pair().config().dest_qpn,
                               .local_va = carries() ? places_.outbox(n) : places_.inbox(n),
                               .remote_va = atomic ? offer_.va : offer_.va + offset,
                               .r_key = offer_.r_key,
                               .swap_add = 1},
                              now);
  if (taken) ++posted_;
  return taken;
}

void ClientLane::post_read_back(Instant now) {
  const std::uint64_t n = posted_ - 1;
  ours_.number(memory(places_.inbox(n)), ~n);  // an old answer mustn't pass for a new one
  connection_.pair().post({.id = n,
                           .operation = Operation::read_request,
                           .length = terms_.size,
                           .local_va = places_.inbox(n),
                           .remote_va = offer_.va + (places_.inbox(n) - places_.inbox()),
                           .r_key = offer_.r_key},
                          now);
}

void ClientLane::post_receive() { connection_.pair().post(places_.receive(0)); }

bool ClientLane::right(const Completion& done) {
  if (terms_.operation == Operation::fetch_add) return done.original == done.id;
  if (terms_.operation != Operation::read_request) return true;
  return theirs_.holds(memory(places_.inbox(done.id)), done.id % terms_.slots);
}

bool ClientLane::right_read_back(const Completion& done) {
  return ours_.holds(memory(places_.inbox(done.id)), done.id);
}

bool ClientLane::right_echo(const Completion& arrival, std::uint64_t n) {
  return arrival.length == terms_.size && theirs_.holds(memory(places_.inbox(n)), n);
}

}  // namespace lw::gen

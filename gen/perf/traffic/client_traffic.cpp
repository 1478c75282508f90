// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/traffic/client_traffic.h"

#include <algorithm>
#include <utility>

#include "nic/clock.h"

namespace lw::gen {

using transport::Completion, transport::Status;
using wire::Operation;

ClientConnection::ClientConnection(const Connected& connected)
    : connection_(*connected.connection),
      params_(connected.params),
      remote_(connected.remote),
      device_(connected.device),
      data_(connected.data),
      layout_(connection_.qpn(), params_),
      sent_pattern_(Side::client, connection_.qpn()),
      received_pattern_(Side::responder, connection_.qpn()) {}

bool ClientConnection::post(Instant now) {
  const transport::QueuePair& pair = connection_.pair();
  // A message in the send queue still uses its slot.
  if (pair.requester().posted() >= pair.config().tx_depth) return false;
  const std::uint64_t n = posted_;
  const bool atomic = fetches_word();
  const bool read = params_.operation == Operation::read_request;
  if (carries()) fill(n);
  const bool comes_here = read || params_.echo;
  if (comes_here && connection_.pattern() == nullptr)
    PayloadPattern::clear(memory(layout_.inbox(n)));
  const bool taken = connection_.post({.id = n,
                                       .operation = params_.operation,
                                       .immediate = params_.immediate,
                                       .length = length_of(n),
                                       .word = static_cast<std::uint32_t>(n),
                                       .dest_qp = connection_.pair().config().dest_qpn,
                                       .local_va = carries() ? layout_.outbox(n) : layout_.inbox(n),
                                       .remote_va = remote_.va + (atomic ? 0 : remote_offset(n)),
                                       .r_key = remote_.r_key,
                                       .swap_add = swap_add_of(params_.operation, n),
                                       .compare = n},
                                      now);
  if (taken) ++posted_;
  return taken;
}

void ClientConnection::fill(std::uint64_t n) {
  if (auto* pattern = connection_.pattern()) return pattern->fill();
  if (data_.empty()) return sent_pattern_.write(memory(layout_.outbox(n)), n);
  const auto part = data_.subspan(n * params_.size, length_of(n));
  std::ranges::copy(part, memory(layout_.outbox(n)).begin());
}

void ClientConnection::post_read_back(Instant now) {
  const std::uint64_t n = posted_ - 1;
  PayloadPattern::clear(memory(layout_.inbox(n)));
  connection_.post({.id = n,
                    .operation = Operation::read_request,
                    .length = params_.size,
                    .local_va = layout_.inbox(n),
                    .remote_va = remote_.va + (layout_.inbox(n) - layout_.inbox()),
                    .r_key = remote_.r_key},
                   now);
}

void ClientConnection::post_receive() { connection_.post(layout_.receive(0)); }

void ClientConnection::post_receives() {
  for (std::uint64_t i = 0; i < params_.depth; ++i) connection_.post(layout_.receive(i));
}

bool ClientConnection::take_arrival(const Completion& arrival) {
  if (takes_receive()) connection_.post(layout_.receive(arrival.id + params_.depth));
  if (fetches_word()) return ++atomics_, arrival.operation == params_.operation;
  auto* pattern = connection_.pattern();
  if (!carries() && pattern != nullptr) {
    pattern->fill();
    return arrival.length == params_.size && arrival.operation == params_.operation;
  }
  const bool right = pattern != nullptr && pattern->pop_message().right;
  return right && arrival.length == params_.size && arrival.operation == params_.operation;
}

bool ClientConnection::counted_right() const noexcept {
  return !fetches_word() || connection_.memory().load(layout_.outbox()) == atomics_;
}

bool ClientConnection::right(const Completion& done) {
  if (fetches_word()) return done.original == done.id;
  if (params_.operation != Operation::read_request) return true;
  if (auto* pattern = connection_.pattern()) return pattern->pop_message().right;
  if (!verifies(params_.verify, done.id)) return true;
  const std::uint64_t number = device_ ? done.id % params_.slots : done.id;
  return received_pattern_.holds(memory(layout_.inbox(done.id)), number);
}

bool ClientConnection::right_read_back(const Completion& done) {
  return sent_pattern_.holds(memory(layout_.inbox(done.id)), done.id);
}

bool ClientConnection::right_echo(const Completion& arrival, std::uint64_t n) {
  return arrival.length == params_.size && received_pattern_.holds(memory(layout_.inbox(n)), n);
}

void ClientTraffic::note_failure(transport::QpSet& qps, std::uint32_t qp,
                                 const Completion& done) noexcept {
  if (result.bandwidth.failed++ > 0) return;
  const Instant at = Instant{} + (nic::now() - made_);
  result.bandwidth.failure = {done.status, qps.qp(qp).config().host, qp, at};
}

void BandwidthTraffic::start() {
  start_ = nic::now();
  if (duration_ > Duration{}) until_ = start_ + duration_;
  for (const auto& client : connections_) {
    if (ways_ == 2 && client->takes_receive()) client->post_receives();
    while (may_post(*client, start_) && client->post(start_)) {
    }
  }
}

void BandwidthTraffic::on_completion(transport::QpSet& qps, std::uint32_t qp,
                                     const Completion& done, Instant /*polled*/) {
  if (done.arrival && ways_ == 1) return;
  if (done.status != Status::success) {
    note_failure(qps, qp, done);
    return;
  }
  ClientConnection& client = *by_index_[qp];
  if (!(done.arrival ? client.take_arrival(done) : client.right(done))) ++result.wrong;
  const Instant now = nic::now();
  count(done, now);
  if (!done.arrival && may_post(client, now)) client.post(now);
}

/// Counts a message of either side.
void BandwidthTraffic::count(const Completion& done, Instant now) noexcept {
  ++(done.arrival ? arrived_ : completed_);
  ++result.bandwidth.messages;
  result.bandwidth.bytes += done.length;
  if (done.arrival) result.bandwidth.back_bytes += done.length;
  meter_.note(now - start_, result.bandwidth);
}

IntervalTotals ClientTraffic::totals() const noexcept {
  IntervalTotals totals{.messages = completed(), .bytes = result.bandwidth.bytes};
  for (const auto& client : connections_) totals.add(client->connection().pair());
  return totals;
}

void ClientTraffic::finish() {
  for (const auto& client : connections_) {
    const auto& counters = client->connection().pair().requester().counters();
    result.bandwidth.packets += counters.packets;
    result.bandwidth.retransmitted += counters.retransmitted;
    result.bandwidth.timeouts += counters.timeouts;
    result.bandwidth.cnps += client->connection().pair().cnps_sent();
  }
}

void BandwidthTraffic::finish() {
  ClientTraffic::finish();
  meter_.finish(result.bandwidth, window(), true);
  for (const auto& client : connections_)
    if (!client->counted_right()) ++result.wrong;
}

std::uint64_t BandwidthTraffic::window() const noexcept {
  std::uint64_t window = 0;
  for (const auto& client : connections_) {
    const transport::QpConfig& config = client->connection().pair().config();
    window += std::min(config.tx_depth, config.max_outstanding_wqe);
  }
  return window * ways_;
}

void LatencyTraffic::start() {
  if (client().carries() && client().takes_receive()) client().post_receive();
  ping();
}

void LatencyTraffic::on_completion(transport::QpSet& qps, std::uint32_t qp, const Completion& done,
                                   Instant /*now*/) {
  if (done.status != Status::success) return note_failure(qps, qp, done);
  if (done.arrival != client().carries()) {  // in a ping-pong the echo ends a message
    if (std::exchange(waits_, false)) post();
    return;
  }
  const Duration round_trip = since_post();
  const bool right =
      done.arrival ? client().right_echo(done, client().posted() - 1) : client().right(done);
  if (done.arrival && client().takes_receive()) client().post_receive();
  count(right, done.arrival ? round_trip / 2 : round_trip);
}

void LatencyTraffic::note_failure(transport::QpSet& qps, std::uint32_t qp,
                                  const Completion& done) noexcept {
  ++result.latency.failed;
  ClientTraffic::note_failure(qps, qp, done);
}

void LatencyTraffic::count(bool right, Duration latency) {
  if (!right) ++result.wrong;
  result.latency.add(latency);
  window_.add(latency);
  ++completed_;
  if (until_ ? nic::now() < *until_ : completed_ < each_) ping();
}

void LatencyTraffic::ping() {
  begin();
  post();
}

/// Posts the next message. If the last one is still in the send queue, because its ACK was lost,
/// posts the next one after its completion.
void LatencyTraffic::post() { waits_ = !client().post(nic::now()); }

void ReadBackTraffic::on_completion(transport::QpSet& qps, std::uint32_t qp, const Completion& done,
                                    Instant /*now*/) {
  if (done.status != Status::success) return note_failure(qps, qp, done);
  if (done.operation != wire::Operation::read_request) return;
  count(client().right_read_back(done), since_post() / 2);
}

void ReadBackTraffic::ping() {
  LatencyTraffic::ping();
  client().post_read_back(nic::now());
}

void PingTraffic::ping() {
  const Instant now = begin();
  read_ = false;
  put_ping_text(completed_, connection_.memory().bytes(layout_.outbox(1), size_));
  std::ranges::fill(connection_.memory().bytes(layout_.inbox(1), size_), std::byte{0});
  announce(layout_.outbox(1), now);
}

/// Sends the announcement of a buffer, with a receive for its answer.
void PingTraffic::announce(std::uint64_t va, Instant now) {
  connection_.post(layout_.receive(0));
  put_ping_buffer({.va = va, .r_key = connection_.memory().r_key(), .size = size_},
                  connection_.memory().bytes(layout_.outbox(0), kPingBufferSize));
  connection_.post(
      {.operation = Operation::send, .length = kPingBufferSize, .local_va = layout_.outbox(0)},
      now);
}

void PingTraffic::on_completion(transport::QpSet& qps, std::uint32_t qp, const Completion& done,
                                Instant now) {
  if (done.status != Status::success) return note_failure(qps, qp, done);
  if (!done.arrival || done.operation != Operation::send) return;
  if (!std::exchange(read_, true)) return announce(layout_.inbox(1), now);
  auto& memory = connection_.memory();
  const auto sent = memory.bytes(layout_.outbox(1), size_);
  count(std::ranges::equal(sent, memory.bytes(layout_.inbox(1), size_)), since_post());
}

}  // namespace lw::gen

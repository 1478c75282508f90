// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/endpoint.h"

#include <algorithm>

#include "core/output.h"
#include "gen/limits.h"
#include "gen/perf/options/endpoint_options.h"
#include "gen/tx/ports.h"
#include "nic/clock.h"
#include "transport/packet.h"
#include "wire/bth.h"

namespace lw::gen {
namespace {

using transport::Packet;

constexpr std::uint8_t kUdSendOnly = 0x64;

bool is_management(const roce::Frame& frame) noexcept {
  return frame.mad != nullptr && frame.deth != nullptr &&
         frame.deth->q_key.get() == wire::kQKeyGeneralServices;
}

/// Longest time before now at which a paced packet may count as sent, to make up for a thread that
/// slept. Short enough that a retransmission timer that starts late does not expire at once.
Duration catch_up_of(const transport::QpConfig& config) noexcept {
  constexpr Duration kMost = std::chrono::milliseconds(10);
  if (config.adaptive_retransmission) return {};
  return config.timeout == 0 ? kMost
                             : std::min(kMost, transport::transport_timeout(config.timeout) / 4);
}

transport::Memory memory_of(std::uint32_t qpn, const Connection::Region& region,
                            PatternMemory* pattern) {
  const RemoteMemory place =
      region.place.value_or(RemoteMemory{MemoryLayout::va_of(qpn), MemoryLayout::r_key_of(qpn)});
  transport::MemoryContent* content = pattern != nullptr ? pattern : region.content;
  if (content != nullptr) return {*content, place.va, region.size, place.r_key};
  return {transport::Memory::Kind::real, place.va, region.size, place.r_key};
}

/// Returns true if the QP accepts the frame: it has the QP's transport (UD: also its Q_Key), or is
/// a CNP.
bool is_for(const transport::QpConfig& qp, const roce::Frame& frame) noexcept {
  if (frame.bth->opcode.get() == transport::kCnpOpcode) return true;
  if (frame.info->transport != qp.transport) return false;
  return qp.transport != wire::Transport::ud || frame.deth->q_key.get() == qp.q_key;
}

/// The peer's MAC address as a number, for CnpScope::destination.
std::uint64_t destination_of(const OwnAddress& peer) noexcept {
  std::uint64_t number = 0;
  for (const std::byte part : peer.mac.bytes)
    number = number << 8 | std::to_integer<std::uint64_t>(part);
  return number;
}

/// UDP source port of the message that a packet belongs to: a request's own, or those that a
/// response acknowledges.
std::uint16_t port_of_message(const Packet& packet, const transport::Requester& requester) {
  constexpr std::uint32_t kFirst = 0xc000, kPorts = 0x4000;
  const std::uint32_t number =
      transport::is_request(packet.opcode) ? requester.number_of(packet.psn) : packet.msn;
  return static_cast<std::uint16_t>(kFirst + number % kPorts);
}

}  // namespace

Connection::Region Connection::Region::of(Side own, std::uint32_t qpn, std::uint32_t client_qpn,
                                          const SessionParams& params,
                                          PatternMemory::Numbers numbers) {
  Region region{.size = MemoryLayout::region(params)};
  if (params.computed)
    region.pattern = std::make_unique<PatternMemory>(own, qpn, client_qpn, params, numbers);
  return region;
}

Connection::Connection(transport::QpSet& qps, const transport::QpConfig& config, Region region,
                       const Peer& peer, const FrameChannel& channel,
                       transport::PayloadStore& store)
    : qps_(qps),
      pattern_(std::move(region.pattern)),
      memory_(memory_of(config.qpn, region, pattern_.get())),
      pair_(config, memory_, store),
      index_(qps.attach(pair_, destination_of(peer.address))),
      peer_(peer.address),
      fields_(channel.fields_to(peer)),
      last_heard_(nic::now()),
      catch_up_(catch_up_of(config)) {
  using By = roce::SourcePort::By;
  const roce::ClassOfTraffic traffic = channel.traffic_to(peer);
  marks_ = traffic.marks();
  const bool by_label = traffic.flow_label && !traffic.source_port;
  const By by = traffic.source_port.value_or(roce::SourcePort{}).by;
  port_by_message_ = by == By::message;
  if (by == By::qp && !by_label)
    fields_.source_port =
        wire::flow_label_to_source_port(wire::flow_label_of_qps(config.qpn, config.dest_qpn));
}

/// Number of packets that a connection sends in a row, and that all connections send in one poll().
constexpr std::uint32_t kBurstOfOne = 16;
constexpr std::size_t kBurst = 64;

Endpoint::Endpoint(FrameChannel& channel, IdleMode idle)
    : QpScheduler(kBurstOfOne), channel_(channel), idle_(idle) {}

std::uint32_t Endpoint::reserve_qpn() noexcept {
  constexpr std::uint32_t kFirst = 0x11, kLast = 0xffffff;
  do {
    last_qpn_ = last_qpn_ < kLast ? last_qpn_ + 1 : kFirst;
  } while (find(last_qpn_) != nullptr);
  return last_qpn_;
}

Connection& Endpoint::add(const transport::QpConfig& config, Connection::Region region,
                          const Peer& peer) {
  auto made =
      std::make_unique<Connection>(*this, config, std::move(region), peer, channel_, store_);
  made->last_heard_ = now_;
  by_index_.resize(qps());
  by_index_[made->index_] = made.get();
  return *(connections_[config.qpn] = std::move(made));
}

void Endpoint::remove(std::uint32_t qpn) {
  connections_.erase(qpn);
  if (connections_.empty()) store_.trim();
}

Connection* Endpoint::find(std::uint32_t qpn) noexcept {
  const auto found = connections_.find(qpn);
  return found == connections_.end() ? nullptr : found->second.get();
}

/// In the class of data, but without ECN, and in the default partition, which QP 1 is in.
void Endpoint::send_management(wire::Bytes mad, const Peer& peer) {
  roce::FrameFields fields = channel_.fields_to(peer);
  roce::ClassMarks marks = channel_.traffic_to(peer).marks().front();
  marks.ecn = 0;
  roce::set_marks(marks, false, fields);
  fields.bth.p_key = wire::kDefaultPKey;
  fields.source_port = wire::flow_label_to_source_port(0);
  fields.bth.opcode = kUdSendOnly;
  fields.bth.dest_qp = wire::kGeneralServicesQp;
  fields.bth.psn = wire::Psn{mad_psn_++ & wire::Psn::kMask};
  fields.deth = {.q_key = wire::kQKeyGeneralServices, .src_qp = wire::kGeneralServicesQp};
  channel_.send(fields, mad);
  quiet_.asked(now_);
}

Result<bool> Endpoint::poll(Instant now) {
  const auto worked = work(now);
  if (!worked) return std::unexpected(worked.error());
  *worked ? idle_.busy() : idle(now);
  return *worked;
}

Result<bool> Endpoint::work(Instant now) {
  now_ = now;
  stalls_.poll(now);
  if (now >= next_sample_) [[unlikely]] {
    next_sample_ = now + std::chrono::seconds(1);
    channel_.sample(now);
  }
  const auto received = channel_.receive([&](const roce::Frame& frame) { receive(frame, now); });
  if (!received) return std::unexpected(received.error());
  run_timers(now);
  may_send_ = kBurst;
  transmit(now);
  const std::size_t sent = kBurst - std::exchange(may_send_, 0);
  if (auto flushed = channel_.flush(); !flushed) return std::unexpected(flushed.error());
  if (*received == 0 && sent == 0) return false;
  quiet_.worked(now, *received);
  return true;
}

void Endpoint::receive(const roce::Frame& frame, Instant now) {
  if (is_management(frame)) {
    quiet_.answered(now);
    if (on_management) on_management(frame);
    return;
  }
  const std::uint32_t qpn = frame.bth->dest_qp.get();
  Connection* connection = find(qpn);
  if (connection == nullptr && on_unknown_qp) {
    on_unknown_qp(frame);
    connection = find(qpn);
  }
  if (connection == nullptr || !is_for(connection->pair_.config(), frame)) return;
  if (sender_of(frame.envelope).ip != connection->peer_.ip) return;
  if (!roce::p_keys_match(connection->fields_.bth.p_key, frame.bth->p_key.get())) {
    ++other_partition_;
    return;
  }
  classes_.add(frame);
  Packet packet = transport::read_packet(frame);
  // What selective repeat keeps has a slot of the store.
  const bool kept =
      connection->pair_.config().recovery == transport::LossRecovery::selective_repeat;
  if (packet.payload > (kept ? transport::PayloadStore::kLargest : kMostPacketPayload)) return;
  if (packet.payload > 0) packet.data = store_.lend(frame.payload);
  connection->last_heard_ = now;
  if (connection->watch_ != nullptr)
    connection->watch_->received(packet, frame.envelope.wire_length);
  deliver(connection->index_, packet, now, false);
}

/// A packet that congestion control held back counts as sent at the time at which it was allowed,
/// not when a sleeping thread wakes up. Otherwise each sleep would cost a flow packets, and DCQCN
/// rate increases.
bool Endpoint::next_packet(std::uint32_t qp, transport::QueuePair& pair, Instant now,
                           Packet& packet) {
  Connection& connection = *by_index_[qp];
  for (;;) {
    const Instant at = std::clamp(connection.paced_until_, now - connection.catch_up_, now);
    if (pair.next(at, packet)) {
      connection.paced_until_ = at < now ? at : transport::kNever;
      return true;
    }
    connection.paced_until_ = pair.paced_until();
    if (connection.paced_until_ > now) return false;
  }
}

void Endpoint::count(const Packet& packet, const roce::FrameFields& fields) noexcept {
  std::optional<std::uint8_t> priority;
  if (!fields.vlans.empty()) priority = fields.vlans.front().priority;
  const bool v4 = fields.encapsulation == wire::Encapsulation::ipv4;
  classes_.add(ClassWay::sent, roce::class_kind(packet.opcode, packet.syndrome),
               v4 ? static_cast<std::uint8_t>(fields.ipv4.dscp << 2 | fields.ipv4.ecn)
                  : fields.ipv6.traffic_class,
               priority, packet.payload);
}

void Endpoint::put_on_link(std::uint32_t qp, Draft& draft, Instant /*now*/) {
  static constexpr wire::CnpReserved kCnp;
  const Packet& packet = draft.packet;
  Connection& connection = *by_index_[qp];
  roce::FrameFields& fields = connection.fields_;
  transport::put_packet(packet, fields, connection.marks_);
  if (connection.port_by_message_) [[unlikely]]
    fields.source_port = port_of_message(packet, connection.pair_.requester());
  count(packet, fields);
  fields.deth.q_key = connection.pair_.config().q_key;  // used only if the packet has a DETH
  if (connection.watch_ != nullptr)
    connection.watch_->sent(packet, roce::layout_of(fields, packet.payload).size);
  --may_send_;
  if (packet.data == 0) {
    return channel_.send(fields, wire::Bytes(kCnp.zeros).first(packet.payload));
  }
  channel_.send(fields, store_.view(packet.data, packet.payload));
  store_.release(packet.data);
}

/// Two endpoints and an impairer between them share as few as two cores, possibly with other
/// programs. A sleeping thread wakes up tens of us late in a guest. A thread that yields is back at
/// once if the others yield too, and otherwise after a whole time slice (measured: 2 ms on either
/// side). While congestion control holds back a packet the sleep is the shortest, because what was
/// due in it leaves as a burst.
Duration Endpoint::pause(Instant now) noexcept {
  const Duration pause = quiet_.rest(now);
  return pause > Duration{} && next_timer() - now < pause ? nic::kShortestNap : pause;
}

void Endpoint::idle(Instant now) noexcept {
  const Duration nap = pause(now);
  if (nap == Duration{}) return idle_.yield();
  stalls_.sleeps(nap);
  idle_.nap(nap);
}

void EndpointContext::begin_watch() {
  watched_since_ = nic::now();
  port_->begin_watch(watched_since_);
  endpoint_->begin_watch(watched_since_);
}

Machine EndpointContext::machine() {
  const Instant now = nic::now();
  return {
      .losses = port_->losses(now), .stalls = endpoint_->stalls(), .elapsed = now - watched_since_};
}

EndpointContext::EndpointContext(Ports ports) : ports_(std::make_unique<Ports>(std::move(ports))) {}

EndpointContext::~EndpointContext() = default;

/// The largest frame in bytes that the port's buffers have to hold.
std::uint32_t frame_size_for(std::uint32_t payload) noexcept {
  constexpr std::uint32_t kHeaders = 200;  // more than any frame of ours has, with ICRC
  return std::max(nic::PoolConfig{}.frame_size, payload + kHeaders);
}

Result<std::unique_ptr<EndpointContext>> EndpointContext::open(const EndpointOptions& options,
                                                               const OwnAddress& own,
                                                               const std::string& beside) {
  constexpr std::uint16_t kDeepRing = 4096;  // the burst of a deep window must fit
  const auto traffic = traffic_of(options);
  if (!traffic) return std::unexpected(traffic.error());
  std::vector<std::string> names = {options.port};
  if (!beside.empty()) names.push_back(beside);
  auto ports = Ports::open(names, options.verbose,
                           {.port = {.receive_ring = kDeepRing},
                            .sends_flows = false,
                            .frame_size = frame_size_for(options.packet_payload),
                            .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  std::unique_ptr<EndpointContext> context(new EndpointContext(std::move(*ports)));
  if (!options.pcap.empty()) {
    auto copy = capture::Writer::create(options.pcap, capture::format_for(options.pcap));
    if (!copy) return std::unexpected(copy.error());
    context->copy_.emplace(std::move(*copy));
  }
  capture::Writer* copy = context->copy_ ? &*context->copy_ : nullptr;
  context->port_.emplace(context->ports_->all().front(), context->ports_->pool(), own,
                         options.rocev1, *traffic, options.idle, copy);
  context->endpoint_.emplace(*context->port_, options.idle);
  return context;
}

nic::Port* EndpointContext::beside() noexcept {
  return ports_->all().size() > 1 ? &ports_->all()[1] : nullptr;
}

Result<void> EndpointContext::close() {
  if (auto flushed = port_->flush(); !flushed) return flushed;
  if (copy_) report_at_end(copy_->close());
  return {};
}

Result<void> EndpointContext::wait_link(Duration timeout, const std::atomic<bool>& stop) {
  return ports_->wait_links(timeout, stop);
}

Result<void> EndpointContext::check_frame(std::size_t size) const {
  return check_mtu(ports_->all().front(), "this size of packets", size, 0);
}

std::optional<double> EndpointContext::link_bps() const { return ports_->all().front().link_bps(); }

using transport::Completion;
using wire::Operation;

PerfService::PerfService(Connection& connection, const SessionParams& params)
    : connection_(connection),
      params_(params),
      layout_(connection.qpn(), params),
      received_pattern_(Side::client, connection.pair().config().dest_qpn),
      sent_pattern_(Side::responder, connection.pair().config().dest_qpn) {
  if (params.takes_receive()) {
    for (std::uint32_t i = 0; i < params.depth; ++i) post_receive(i);
  }
  connection.run(*this);
}

/// The number of a receive, and so its slot, is that of the SEND that uses it.
void PerfService::post_receive(std::uint64_t number) { connection_.post(layout_.receive(number)); }

void PerfService::on_completion(transport::QpSet& /*qps*/, std::uint32_t /*qp*/,
                                const Completion& done, Instant now) {
  if (!done.arrival) {
    take_own(done);
    return send_due(now);
  }
  if (!wire::sends_data(done.operation)) {
    if (done.operation == params_.operation) serve_fetch(done);
    return send_due(now);
  }
  check(done);
  if (done.operation == Operation::send || done.immediate) post_receive(done.id + params_.depth);
  if (params_.echo) echo(now);
  ++arrived_;
  send_due(now);
}

/// A READ's slot is free: the client has the message that was there.
void PerfService::serve_fetch(const Completion& arrival) {
  if (arrival.operation == Operation::read_request) {
    if (auto* pattern = connection_.pattern()) {
      pattern->fill();
    } else {
      const auto slot = connection_.memory().bytes(layout_.outbox(fetched_), params_.size);
      sent_pattern_.write(slot, fetched_);
    }
  }
  ++fetched_;
}

/// Both ways: the client checks what it was sent; what was fetched from it is checked here.
void PerfService::take_own(const Completion& done) {
  if (!params_.fetches() || done.status != transport::Status::success) return;
  if (done.operation != Operation::read_request) {
    wrong_ += done.original == done.id ? 0 : 1;
    return;
  }
  check(done);
  ++arrived_;
}

bool PerfService::settled() const noexcept {
  const transport::QueuePair& pair = connection_.pair();
  return !params_.both || !params_.fetches() || pair.broken() || pair.requester().posted() == 0;
}

void PerfService::check(const Completion& arrival) {
  bytes_ += arrival.length;
  const bool whole = is_whole(arrival);
  if (!whole || arrival.length != params_.size || arrival.operation != params_.operation) ++wrong_;
}

/// Returns true if each byte of a message is right, as far as the client wants it to be verified.
bool PerfService::is_whole(const Completion& arrival) {
  auto* pattern = connection_.pattern();
  if (pattern == nullptr) return is_stored_whole(arrival);
  const PatternMemory::Found found = pattern->pop_message();
  if (params_.lossy() && found.right && !is_new(found.number)) ++copies_;
  return found.right;
}

/// Counts the number of a message that may have been lost. Returns true if it came first now.
bool PerfService::is_new(std::uint64_t number) {
  return numbers_.add(number).kind != analysis::Arrival::Kind::duplicate;
}

/// Checks a message in memory, and clears its slot. The messages of a reliable connection arrive
/// in order. On a lossy one any message may arrive next, and all WRITEs use the first slot.
bool PerfService::is_stored_whole(const Completion& arrival) {
  const bool lossy = params_.lossy();
  const std::uint64_t place = !lossy                                 ? arrived_
                              : arrival.operation == Operation::send ? arrival.id
                                                                     : 0;
  const auto message = connection_.memory().bytes(layout_.inbox(place), params_.size);
  const std::uint64_t number = lossy ? PayloadPattern::number_of(message) : arrived_;
  const bool whole =
      !verifies(params_.verify, arrived_) || received_pattern_.holds(message, number);
  if (lossy && whole && !is_new(number)) ++copies_;
  if (!params_.read_back) PayloadPattern::clear(message);
  return whole;
}

void PerfService::echo(Instant now) {
  sent_pattern_.write(connection_.memory().bytes(layout_.outbox(arrived_), params_.size), arrived_);
  post(arrived_, now);
}

/// Both ways: makes a request for each that arrived, as far as slots are free.
void PerfService::send_due(Instant now) {
  if (!params_.both) return;
  const std::uint64_t due = params_.fetches() ? fetched_ : arrived_;
  while (sent_ < due && connection_.pair().requester().posted() < params_.depth) {
    if (params_.fetches()) {
      post_fetch(sent_++, now);
      continue;
    }
    if (auto* pattern = connection_.pattern()) pattern->fill();
    post(sent_++, now);
  }
}

/// The result of an atomic goes to the outbox: the inbox has the word that the client changes.
void PerfService::post_fetch(std::uint64_t number, Instant now) {
  const bool read = params_.operation == Operation::read_request;
  connection_.post({.id = number,
                    .operation = params_.operation,
                    .length = params_.size,
                    .local_va = read ? layout_.inbox(number) : layout_.outbox(),
                    .remote_va = params_.va + (read ? layout_.inbox(number) - layout_.inbox() : 0),
                    .r_key = params_.r_key,
                    .swap_add = swap_add_of(params_.operation, number),
                    .compare = number},
                   now);
}

void PerfService::post(std::uint64_t number, Instant now) {
  connection_.post({.operation = params_.operation,
                    .immediate = params_.immediate,
                    .length = params_.size,
                    .local_va = layout_.outbox(number),
                    .remote_va = params_.va + (layout_.inbox(number) - layout_.inbox()),
                    .r_key = params_.r_key},
                   now);
}

std::uint64_t PerfService::compared() const noexcept {
  return params_.computable() || params_.echo || params_.read_back
             ? verified_of(params_.verify, arrived_)
             : stats().checked;
}

ServerStats PerfService::stats() const noexcept {
  const auto& counters = connection_.pair().responder_counters();
  ServerStats stats{.checked = arrived_,
                    .wrong = wrong_,
                    .duplicates = params_.lossy() ? copies_ : counters.duplicates,
                    .out_of_sequence = counters.out_of_sequence,
                    .cnps = connection_.pair().cnps_sent(),
                    .dropped = counters.dropped};
  if (params_.operation != Operation::fetch_add && params_.operation != Operation::cmp_swap)
    return stats;
  // Atomics are executed exactly once: each adds one to an initial 0, or replaces the value by one
  // more.
  stats.checked = counters.packets;
  stats.wrong += connection_.memory().load(layout_.inbox()) == counters.packets ? 0 : 1;
  return stats;
}

}  // namespace lw::gen

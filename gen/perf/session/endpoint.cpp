// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/endpoint.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "gen/perf/options/endpoint_options.h"
#include "gen/tx/ports.h"
#include "nic/clock.h"
#include "transport/packet_frame.h"
#include "wire/bth.h"

namespace lw::gen {
namespace {

using transport::Packet;

constexpr std::uint8_t kUdSendOnly = 0x64;

bool is_management(const roce::Frame& frame) noexcept {
  return frame.mad != nullptr && frame.deth != nullptr &&
         frame.deth->q_key.get() == wire::kQKeyGeneralServices;
}

/// What congestion control let go while the thread was elsewhere is made up for, but not more than
/// this, and never so much that a retransmission timer, started late, would be over already.
Duration catch_up_of(const transport::QpConfig& config) noexcept {
  constexpr Duration kMost = std::chrono::milliseconds(10);
  if (config.adaptive_retransmission) return {};
  return config.timeout == 0 ? kMost
                             : std::min(kMost, transport::transport_timeout(config.timeout) / 4);
}

/// Whether such a QP takes this packet: those of its transport, UD with its key, and CNPs.
bool is_for(const transport::QpConfig& qp, const roce::Frame& frame) noexcept {
  if (frame.bth->opcode.get() == transport::kCnpOpcode) return true;
  if (frame.info->transport != qp.transport) return false;
  return qp.transport != wire::Transport::ud || frame.deth->q_key.get() == qp.q_key;
}

}  // namespace

Connection::Connection(const transport::QpConfig& config, std::uint64_t region,
                       const OwnAddress& own, const OwnAddress& peer,
                       transport::PayloadStore& store)
    : memory_(transport::Memory::Kind::real, MemoryLayout::va_of(config.qpn), region,
              MemoryLayout::r_key_of(config.qpn)),
      pair_(config, memory_, store),
      peer_(peer),
      fields_(fields_between(own, peer)),
      heard_(nic::now()),
      catch_up_(catch_up_of(config)) {
  fields_.source_port =
      wire::flow_label_to_source_port(wire::flow_label_of_qps(config.qpn, config.dest_qpn));
}

Endpoint::Endpoint(FramePort& port, IdleMode idle) : port_(port), idle_(idle) {
  prctl(PR_SET_TIMERSLACK, 1UL);
}

std::uint32_t Endpoint::reserve_qpn() noexcept { return ++last_qpn_; }

Connection& Endpoint::add(const transport::QpConfig& config, std::uint64_t region,
                          const OwnAddress& peer) {
  auto made = std::make_unique<Connection>(config, region, port_.own(), peer, store_);
  return *(connections_[config.qpn] = std::move(made));
}

void Endpoint::remove(std::uint32_t qpn) { connections_.erase(qpn); }

Connection* Endpoint::find(std::uint32_t qpn) noexcept {
  const auto found = connections_.find(qpn);
  return found == connections_.end() ? nullptr : found->second.get();
}

void Endpoint::send_management(wire::Bytes mad, const OwnAddress& peer) {
  roce::FrameFields fields = fields_between(port_.own(), peer);
  fields.source_port = wire::flow_label_to_source_port(0);
  fields.bth.opcode = kUdSendOnly;
  fields.bth.dest_qp = wire::kGeneralServicesQp;
  fields.bth.psn = wire::Psn{mad_psn_++ & wire::Psn::kMask};
  fields.deth = {.q_key = wire::kQKeyGeneralServices, .src_qp = wire::kGeneralServicesQp};
  port_.send(fields, mad);
}

Result<bool> Endpoint::poll() {
  const Instant now = nic::now();
  const auto received = port_.receive([&](const roce::Frame& frame) { take(frame, now); });
  if (!received) return std::unexpected(received.error());
  expire(now);
  const std::size_t sent = send(now);
  if (auto flushed = port_.flush(); !flushed) return std::unexpected(flushed.error());
  if (*received == 0 && sent == 0) {
    rest(now);
    return false;
  }
  moved_ = now;
  empty_turns_ = 0;
  return true;
}

void Endpoint::take(const roce::Frame& frame, Instant now) {
  if (is_management(frame)) {
    if (on_management) on_management(frame);
    return;
  }
  Connection* connection = find(frame.bth->dest_qp.get());
  if (connection == nullptr || !is_for(connection->pair_.config(), frame)) return;
  if (sender_of(frame.envelope).ip != connection->peer_.ip) return;
  Packet packet = transport::read_packet(frame);
  if (packet.payload > transport::PayloadStore::kLargest) return;
  if (packet.payload > 0) {
    packet.data = store_.take();
    std::ranges::copy(frame.payload, store_.bytes(packet.data, packet.payload).begin());
  }
  connection->heard_ = now;
  connection->pair_.receive(packet, now);
  store_.release(packet.data);
  tell(*connection);
}

void Endpoint::tell(Connection& connection) {
  for (auto* queue : {&connection.pair_.completions(), &connection.pair_.arrivals()}) {
    while (!queue->empty()) {
      const transport::Completion done = queue->front();
      queue->pop();
      if (connection.application_) connection.application_->on_completion(connection, done);
    }
  }
}

void Endpoint::expire(Instant now) {
  for (const auto& [qpn, connection] : connections_) {
    if (connection->pair_.deadline() > now) continue;
    connection->pair_.expire(now);
    tell(*connection);
  }
}

/// Connections take turns; where a burst ends, the next one begins.
std::size_t Endpoint::send(Instant now) {
  constexpr std::size_t kMost = 64, kMostOfOne = 16;
  std::size_t sent = 0;
  auto next = connections_.lower_bound(turn_of_);
  for (std::size_t i = 0; i < connections_.size() && sent < kMost; ++i) {
    if (next == connections_.end()) next = connections_.begin();
    sent += send_from(*next->second, now, std::min(kMostOfOne, kMost - sent));
    ++next;
  }
  turn_of_ = next == connections_.end() ? 0 : next->first;
  return sent;
}

std::size_t Endpoint::send_from(Connection& connection, Instant now, std::size_t most) {
  static constexpr wire::CnpReserved kCnp;
  std::size_t sent = 0;
  for (; sent < most; ++sent) {
    Packet packet;
    if (!next_of(connection, now, packet)) break;
    transport::put_packet(packet, connection.fields_);
    if (packet.data != 0) {
      port_.send(connection.fields_, store_.bytes(packet.data, packet.payload));
      store_.release(packet.data);
    } else {
      port_.send(connection.fields_, wire::Bytes(kCnp.zeros).first(packet.payload));
    }
  }
  if (!connection.pair_.completions().empty()) tell(connection);
  return sent;
}

/// The connection's next packet, if one may go. One that congestion control held back is taken as
/// of the moment when it might go, not as of the one when a thread that naps gets to look: or else
/// a flow would lose by each nap what it missed, and DCQCN its increases in between.
bool Endpoint::next_of(Connection& connection, Instant now, Packet& packet) {
  for (;;) {
    const Instant at = std::clamp(connection.paced_until_, now - connection.catch_up_, now);
    if (connection.pair_.next(at, packet)) {
      connection.paced_until_ = at < now ? at : transport::kNever;
      return true;
    }
    connection.paced_until_ = connection.pair_.paced_until();
    if (connection.paced_until_ > now) return false;
  }
}

/// Two endpoints and a box between them share as few as two cores, maybe with others. Who naps and
/// is woken runs soon, tens of us late in a guest; who yields is back at once where the others
/// yield, too, and after a whole time slice where they don't (measured: 2 ms on either side).
void Endpoint::rest(Instant now) noexcept {
  constexpr std::uint32_t kTimeout = 64;  // turns: some microseconds
  constexpr Duration kAwake = std::chrono::milliseconds(500);
  constexpr timespec kNap{0, 10'000}, kSleep{0, 200'000};
  if (idle_ == IdleMode::yield) sched_yield();
  if (idle_ != IdleMode::adaptive || ++empty_turns_ < kTimeout) return;
  const timespec& time = now - moved_ < kAwake ? kNap : kSleep;
  nanosleep(&time, nullptr);
}

EndpointContext::EndpointContext(Ports ports) : ports_(std::make_unique<Ports>(std::move(ports))) {}

EndpointContext::~EndpointContext() = default;

Result<std::unique_ptr<EndpointContext>> EndpointContext::open(const EndpointOptions& options,
                                                               const OwnAddress& own) {
  constexpr std::uint16_t kDeepRing = 4096;  // a burst of a deep window must find room
  auto ports = Ports::open({options.port}, options.verbose,
                           {.port = {.receive_ring = kDeepRing}, .sends_flows = false, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  std::unique_ptr<EndpointContext> context(new EndpointContext(std::move(*ports)));
  if (!options.pcap.empty()) {
    auto copy = capture::Writer::create(options.pcap, capture::format_for(options.pcap));
    if (!copy) return std::unexpected(copy.error());
    context->copy_.emplace(std::move(*copy));
  }
  capture::Writer* copy = context->copy_ ? &*context->copy_ : nullptr;
  context->port_.emplace(context->ports_->all().front(), context->ports_->pool(), own, copy);
  context->endpoint_.emplace(*context->port_, options.idle);
  return context;
}

Result<void> EndpointContext::close() {
  if (auto flushed = port_->flush(); !flushed) return flushed;
  ports_->drain();
  return copy_ ? copy_->close() : Result<void>{};
}

Result<void> EndpointContext::wait_link(Duration timeout, const std::atomic<bool>& stop) {
  return ports_->wait_links(timeout, stop);
}

std::optional<double> EndpointContext::link_bps() const { return ports_->all().front().link_bps(); }

}  // namespace lw::gen

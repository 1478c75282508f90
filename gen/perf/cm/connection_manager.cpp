// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/connection_manager.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/limits.h"
#include "nic/clock.h"

namespace lw::gen {

namespace {

using wire::CmMessage;

constexpr Duration kBetween = std::chrono::milliseconds(250);

SessionParams session_params_of(SessionParams params, std::uint32_t qpn) noexcept {
  const MemoryLayout layout(qpn, params);
  params.va = params.fetches() ? layout.outbox() : layout.inbox();
  params.r_key = MemoryLayout::r_key_of(qpn);
  return params;
}

}  // namespace

ActiveSide::ActiveSide(Endpoint& endpoint, const Config& config, const std::atomic<bool>& stop)
    : endpoint_(endpoint), config_(config), stop_(stop), next_comm_id_(std::random_device{}()) {
  endpoint_.on_management = [this](const roce::Frame& frame) { on_management(frame); };
}

ActiveSide::Call ActiveSide::request(const SessionParams& params, const transport::QpConfig& qp) {
  Call call{.comm_id = next_comm_id_++, .qpn = endpoint_.reserve_qpn()};
  ConnectRequest request{
      .comm_id = call.comm_id,
      .qp = {.qpn = call.qpn, .first_psn = qp.receive_psn},
      // A request can't express UD; SessionParams can.
      .transport = qp.transport == wire::Transport::uc ? wire::Transport::uc : wire::Transport::rc,
      .port = config_.port,
      .mtu = params.packet_payload == 0 ? qp.mtu : kMostMtu,
      .ack_timeout = qp.timeout,
      .retry_count = qp.retry_count,
      .source = endpoint_.channel().own().ip,
      .destination = config_.peer.ip,
      .data = to_private_data(session_params_of(params, call.qpn))};
  request.path = qp_class_of(endpoint_.channel().traffic());
  const auto reads = static_cast<std::uint8_t>(std::min(qp.max_rd_atomic, 255u));
  request.qp.initiator_depth = request.qp.responder_resources = reads;
  request.qp.rnr_retry = qp.rnr_retry;
  call.mad = to_mad(call.comm_id, request);
  return call;
}

Result<std::vector<Connected>> ActiveSide::connect(const SessionParams& params,
                                                   const transport::QpConfig& qp,
                                                   std::uint32_t count) {
  calls_.clear();
  for (std::uint32_t i = 0; i < count; ++i) calls_.push_back(request(params, qp));
  if (auto ran = run(); !ran) return std::unexpected(ran.error());
  if (!all_done() && stop_.load(std::memory_order_relaxed))
    return fail("stopped by a signal before there was a connection", ExitCode::failed);
  if (!all_done()) {
    return fail(
        fmt::format("{} answers pings but no connection request: is it `roce-gen respond`, with "
                    "the same --encapsulation?",
                    to_string(config_.peer.ip)),
        ExitCode::environment);
  }
  std::vector<Connected> connected;
  for (const Call& call : calls_) connected.push_back(connect(call, params, qp));
  return connected;
}

Connected ActiveSide::connect(const Call& call, const SessionParams& params,
                              transport::QpConfig qp) {
  qp.qpn = call.qpn;
  qp.dest_qpn = call.reply.qp.qpn;
  qp.send_psn = call.reply.qp.first_psn;
  qp.report_writes = true;
  qp.report_fetches = params.both;
  qp.notifies = !endpoint_.channel().rocev1();
  qp.max_dest_rd_atomic = 0;  // the responder has no more than were agreed on
  const CmIds ids{.local = call.comm_id, .remote = call.reply.ids.local};
  Connected connected{.params = session_params_of(params, call.qpn), .ids = ids};
  if (const auto remote = read_remote_memory(call.reply.data)) connected.remote = *remote;
  connected.connection =
      &endpoint_.add(qp,
                     Connection::Region::of(Side::client, call.qpn, call.qpn, params,
                                            PatternMemory::Numbers::counted),
                     {config_.peer});
  endpoint_.send_management(to_mad(CmMessage::rtu, call.comm_id, ids), {config_.peer});
  return connected;
}

Result<void> ActiveSide::disconnect(std::vector<Connected>& connected) {
  calls_.clear();
  for (const Connected& d : connected) {
    calls_.push_back(
        {.comm_id = d.ids.local,
         .qpn = d.connection->qpn(),
         .mad = disconnect_mad(d.ids.local, d.ids, d.connection->pair().config().dest_qpn)});
  }
  if (auto ran = run(); !ran) return ran;
  for (std::size_t i = 0; i < connected.size(); ++i) {
    connected[i].answered = calls_[i].stats.has_value();
    connected[i].stats = calls_[i].stats.value_or(ServerStats{});
    endpoint_.remove(calls_[i].qpn);
    connected[i].connection = nullptr;
  }
  return {};
}

Result<void> ActiveSide::check() {
  if (!refused_) return {};
  return fail(fmt::format("{} refuses: {}", to_string(config_.peer.ip), *refused_),
              ExitCode::failed);
}

bool ActiveSide::all_done() const noexcept { return std::ranges::all_of(calls_, &Call::done); }

Instant ActiveSide::last_heard() const noexcept {
  Instant last{};
  for (const Call& call : calls_)
    if (const Connection* open = endpoint_.find(call.qpn))
      last = std::max(last, open->last_heard());
  return last;
}

Result<void> ActiveSide::run() {
  Instant give_up = nic::now() + config_.timeout;
  while (!all_done() && !stop_.load(std::memory_order_relaxed)) {
    const Instant now = nic::now();
    if (now >= give_up) give_up = last_heard() + config_.timeout;
    if (now >= give_up) break;
    for (Call& call : calls_) {
      if (call.done || call.next > now) continue;
      endpoint_.send_management(call.mad, {config_.peer});
      call.next = now + kBetween;
    }
    if (auto polled = endpoint_.poll(); !polled) return std::unexpected(polled.error());
    if (auto accepted = check(); !accepted) return accepted;
  }
  return {};
}

void ActiveSide::on_management(const roce::Frame& frame) {
  const auto heading = read_heading(frame.payload);
  if (!heading || sender_of(frame.envelope).ip != config_.peer.ip) return;
  for (Call& call : calls_) {
    if (call.comm_id == heading->ids.remote) handle_answer(call, *heading, frame.payload);
  }
}

void ActiveSide::handle_answer(Call& call, const CmHeading& heading, wire::Bytes mad) {
  if (heading.message == CmMessage::rej) {  // also of a connection that was confirmed too late
    refused_ = read_refusal(mad);
  } else if (call.done) {
    return;
  } else if (heading.message == CmMessage::rep) {
    const auto reply = read_reply(mad);
    if (!reply) return;
    call.reply = *reply;
    call.done = true;
  } else if (heading.message == CmMessage::drep) {
    call.stats = read_server_stats(data_of_pair(mad));
    call.done = true;
  }
}

namespace {

using wire::CmMessage;

constexpr Duration kBetweenSweeps = std::chrono::seconds(1);

wire::Psn first_psn_of(std::uint32_t qpn) noexcept { return wire::Psn{(qpn * 0x9e3779b1u) >> 8}; }

/// Payload of a packet that is not the last of its message.
std::uint32_t payload_of(const ConnectRequest& request, const SessionParams& params) noexcept {
  return params.packet_payload != 0 ? params.packet_payload : request.mtu;
}

transport::QpConfig qp_of(const ConnectRequest& request, const SessionParams& params,
                          std::uint32_t qpn, const transport::DcqcnConfig& dcqcn) {
  transport::QpConfig qp;
  qp.transport = params.transport;
  qp.mtu = payload_of(request, params);
  qp.qpn = qpn;
  qp.dest_qpn = request.qp.qpn;
  qp.send_psn = request.qp.first_psn;
  qp.receive_psn = first_psn_of(qpn);
  qp.tx_depth = qp.max_outstanding_wqe = params.depth + transport::kSpareRequests;
  qp.max_rd_atomic = std::max<std::uint32_t>(1, request.qp.responder_resources);
  qp.timeout = request.ack_timeout;
  qp.retry_count = request.retry_count;
  qp.rnr_retry = request.qp.rnr_retry;
  if (params.selective_repeat) qp.recovery = transport::LossRecovery::selective_repeat;
  qp.reorder_packets = MemoryLayout::kept_packets(params, qp.mtu);
  qp.rate_control = params.rate_control;
  qp.rate_bps = static_cast<double>(params.rate_bps);
  qp.dcqcn = dcqcn;
  qp.report_writes = true;
  qp.report_fetches = true;
  return qp;
}

}  // namespace

PassiveSide::PassiveSide(Endpoint& endpoint, const Config& config)
    : endpoint_(endpoint),
      config_(config),
      half_open_(std::clamp<std::size_t>(config.memory / kConnectionCost, 1, kMostConnections)) {
  endpoint_.on_management = [this](const roce::Frame& frame) { on_management(frame); };
  endpoint_.on_unknown_qp = [this](const roce::Frame& frame) {
    const HalfOpen* known = half_open_.find(frame.bth->dest_qp.get());
    if (known != nullptr && known->peer.address.ip == sender_of(frame.envelope).ip) open(*known);
  };
}

void PassiveSide::on_management(const roce::Frame& frame) {
  const auto heading = read_heading(frame.payload);
  if (!heading) return;
  const Peer peer = peer_of(frame.envelope);
  if (heading->message == CmMessage::req) {
    accept(frame.payload, *heading, peer);
  } else if (heading->message == CmMessage::rtu) {
    const HalfOpen* known = half_open_.find(PeerId{peer.address.ip, heading->ids.local});
    if (known != nullptr && known->qpn == heading->ids.remote) open(*known);
  } else if (heading->message == CmMessage::dreq || heading->message == CmMessage::rej) {
    end(*heading, peer);
  }
}

void PassiveSide::accept(wire::Bytes mad, const CmHeading& heading, const Peer& peer) {
  const PeerId id{peer.address.ip, heading.ids.local};
  if (const auto known = connections_.find(id); known != connections_.end())
    return endpoint_.send_management(known->second.reply, known->second.peer);
  if (const HalfOpen* known = half_open_.find(id); known != nullptr) {
    half_open_.note_repeated(*known, endpoint_.now());
    return endpoint_.send_management(known->reply, known->peer);
  }
  const CmIds ids{.local = 0, .remote = heading.ids.local};
  const auto request = read_request(mad);
  if (!request) {
    return reject(heading.transaction, ids,
                  "only RC and UC with rdma_cm's TCP port space are served here", peer);
  }
  const auto params = check(*request);
  if (!params) return reject(heading.transaction, ids, params.error(), peer);
  reply(*request, *params, heading.transaction,
        {peer.address, class_of(request->path).over(peer.traffic)});
}

void PassiveSide::reject(std::uint64_t transaction, const CmIds& ids, const std::string& why,
                         const Peer& peer) {
  endpoint_.send_management(refusal_mad(transaction, ids, why), peer);
}

Parsed<SessionParams> PassiveSide::params_of(const ConnectRequest& request) const {
  if (!is_rping(request)) {
    auto params = read_session_params(request.data);
    if (params) params->computed = params->computable();
    return params;
  }
  if (request.transport != wire::Transport::rc) return std::unexpected("rping needs RC");
  return ping_params(PingServer::kLongest);
}

std::string PassiveSide::ports() const {
  return config_.rping_port == 0 ? fmt::format("port {} is", config_.port)
                                 : fmt::format("ports {} (roce-gen perf) and {} (rping) are",
                                               config_.port, config_.rping_port);
}

Parsed<SessionParams> PassiveSide::check(const ConnectRequest& request) const {
  if (request.port != config_.port && !is_rping(request))
    return std::unexpected(fmt::format("{} served here, not {}", ports(), request.port));
  const auto params = params_of(request);
  if (!params) return params;
  const std::uint32_t payload = payload_of(request, *params);
  if (params->transport == wire::Transport::ud && params->size > payload) {
    return std::unexpected(
        fmt::format("a UD message of {} B doesn't fit the MTU of {} B", params->size, payload));
  }
  if (payload > config_.packet_payload) {
    return std::unexpected(
        fmt::format("packets of {} B: start respond with --packet-payload {}", payload, payload));
  }
  if (auto room = check_room(MemoryLayout::cost(*params, payload)); !room)
    return std::unexpected(room.error());
  return params;
}

Parsed<void> PassiveSide::check_room(std::uint64_t cost) const {
  if (connections_.size() >= kMostConnections)
    return std::unexpected(fmt::format("{} connections are open", kMostConnections));
  if (cost > config_.memory - memory_) {
    return std::unexpected(fmt::format("--memory {} doesn't hold another {}",
                                       format_bytes(static_cast<double>(config_.memory)),
                                       format_bytes(static_cast<double>(cost))));
  }
  return {};
}

/// Replies to a request. The connection gets its memory when the client confirms it.
void PassiveSide::reply(const ConnectRequest& request, const SessionParams& params,
                        std::uint64_t transaction, const Peer& peer) {
  HalfOpen added{.id = {peer.address.ip, request.comm_id},
                 .peer = peer,
                 .request = request,
                 .params = params,
                 .qpn = endpoint_.reserve_qpn(),
                 .heard = endpoint_.now()};
  const MemoryLayout layout(added.qpn, params);
  const bool reads = params.operation == wire::Operation::read_request;
  const RemoteMemory remote{.va = reads ? layout.outbox() : layout.inbox(),
                            .r_key = MemoryLayout::r_key_of(added.qpn)};
  const CmQp own{.qpn = added.qpn,
                 .first_psn = first_psn_of(added.qpn),
                 .responder_resources = request.qp.initiator_depth,
                 .initiator_depth = request.qp.responder_resources};
  added.reply =
      to_mad(transaction, ConnectReply{.ids = {.local = added.qpn, .remote = request.comm_id},
                                       .qp = own,
                                       .data = to_private_data(remote)});
  endpoint_.send_management(added.reply, peer);
  half_open_.add(std::move(added));
}

Connection::Region PassiveSide::region_of(const HalfOpen& opened) {
  const auto numbers =
      opened.params.lossy() ? PatternMemory::Numbers::in_message : PatternMemory::Numbers::counted;
  return Connection::Region::of(Side::responder, opened.qpn, opened.request.qp.qpn, opened.params,
                                numbers);
}

void PassiveSide::open(const HalfOpen& confirmed) {
  const HalfOpen opened = confirmed;
  half_open_.remove(confirmed);
  const std::uint64_t cost =
      MemoryLayout::cost(opened.params, payload_of(opened.request, opened.params));
  const CmIds ids{.local = opened.qpn, .remote = opened.request.comm_id};
  if (const auto room = check_room(cost); !room)
    return reject(opened.qpn, ids, room.error(), opened.peer);
  auto qp = qp_of(opened.request, opened.params, opened.qpn, config_.dcqcn);
  qp.notifies = !endpoint_.channel().rocev1();
  Connection& connection = endpoint_.add(qp, region_of(opened), opened.peer);
  Served& served = connections_[opened.id];
  served = {.service = nullptr,
            .qpn = opened.qpn,
            .memory = cost,
            .reply = opened.reply,
            .peer = opened.peer};
  if (is_rping(opened.request)) {
    served.service = std::make_unique<PingServer>(connection);
  } else {
    served.service = std::make_unique<PerfService>(connection, opened.params);
  }
  memory_ += cost;
  ++report_.connections;
}

/// Closes a connection. One that still has READs or atomics of its own is held: the client answers
/// them until it has the DREP. Repeats the DREP of a closed one, because the first may have been
/// lost.
void PassiveSide::end(const CmHeading& heading, const Peer& peer) {
  const PeerId id{peer.address.ip, heading.ids.local};
  const CmIds ids{.local = heading.ids.remote, .remote = heading.ids.local};
  const auto served = connections_.find(id);
  if (served != connections_.end() && served->second.qpn == ids.local) {
    if (heading.message == CmMessage::dreq && !served->second.service->settled())
      return hold(served->second, heading);
    remember_end(id, to_mad(CmMessage::drep, heading.transaction, ids,
                            to_private_data(served->second.service->stats())));
    close(served, false);
  } else if (const HalfOpen* known = half_open_.find(id);
             known != nullptr && known->qpn == ids.local) {
    remember_end(id,
                 to_mad(CmMessage::drep, heading.transaction, ids, to_private_data(ServerStats{})));
    half_open_.remove(*known);
  }
  const auto drep = dreps_.find(id);
  if (heading.message == CmMessage::dreq && drep != dreps_.end())
    endpoint_.send_management(drep->second, peer);
}

void PassiveSide::hold(Served& served, const CmHeading& dreq) noexcept {
  if (!served.dreq) ++held_;
  served.dreq = dreq;
}

void PassiveSide::end_held() {
  for (auto served = connections_.begin(); held_ > 0 && served != connections_.end();) {
    const Served& each = (served++)->second;
    if (each.dreq && each.service->settled()) end(CmHeading(*each.dreq), Peer(each.peer));
  }
}

void PassiveSide::remember_end(const PeerId& id, const MadBytes& drep) {
  if (dreps_.insert_or_assign(id, drep).second) ended_.push_back(id);
  while (ended_.size() > kMostClosed) {
    dreps_.erase(ended_.front());
    ended_.pop_front();
  }
}

void PassiveSide::close(std::map<PeerId, Served>::iterator served, bool gone) {
  const Service& service = *served->second.service;
  Connection& connection = *endpoint_.find(served->second.qpn);
  const ServerStats stats = service.stats();
  report_.bytes += service.bytes();
  report_.compared += service.compared();
  report_.stats += stats;
  report_.broken += connection.pair().broken() ? 1 : 0;
  report_.gone += gone ? 1 : 0;
  memory_ -= served->second.memory;
  held_ -= served->second.dreq ? 1 : 0;
  endpoint_.remove(served->second.qpn);
  connections_.erase(served);
  if (connections_.empty()) sessions.push_back(std::exchange(report_, {}));
}

void PassiveSide::sweep(Instant now) {
  constexpr Duration kBetweenHeld = std::chrono::milliseconds(1);  // all connections are looked at
  if (held_ > 0 && now - held_checked_ >= kBetweenHeld) {
    held_checked_ = now;
    end_held();
  }
  if (now - swept_ < kBetweenSweeps) return;
  swept_ = now;
  half_open_.expire(now - kConfirmWithin);
  for (auto served = connections_.begin(); served != connections_.end();) {
    const auto next = std::next(served);
    if (now - endpoint_.find(served->second.qpn)->last_heard() > kSilentConnection)
      close(served, true);
    served = next;
  }
}

void PassiveSide::finish() {
  while (!connections_.empty()) close(connections_.begin(), true);
}

}  // namespace lw::gen

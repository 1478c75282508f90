// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/active_side.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "core/quantity.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

using wire::CmMessage;

constexpr Duration kBetween = std::chrono::milliseconds(250);

Terms terms_of(Terms terms, std::uint32_t qpn) noexcept {
  terms.va = Places(qpn, terms).inbox();
  terms.r_key = Connection::r_key_of(qpn);
  return terms;
}

}  // namespace

ActiveSide::ActiveSide(Endpoint& endpoint, const Config& config, const std::atomic<bool>& stop)
    : endpoint_(endpoint), config_(config), stop_(stop), next_comm_id_(std::random_device{}()) {
  endpoint_.on_management = [this](const roce::Frame& frame) { hear(frame); };
}

ActiveSide::Call ActiveSide::request(const Terms& terms, const transport::QpConfig& qp) {
  Call call{.comm_id = next_comm_id_++, .qpn = endpoint_.reserve_qpn()};
  ConnectRequest request{
      .comm_id = call.comm_id,
      .qp = {.qpn = call.qpn, .first_psn = qp.receive_psn},
      // A request can't say UD; the terms do.
      .transport = qp.transport == wire::Transport::uc ? wire::Transport::uc : wire::Transport::rc,
      .port = config_.port,
      .mtu = qp.mtu,
      .ack_timeout = qp.timeout,
      .retry_count = qp.retry_count,
      .source = endpoint_.port().own().ip,
      .destination = config_.peer.ip,
      .data = to_private_data(terms_of(terms, call.qpn))};
  const auto reads = static_cast<std::uint8_t>(std::min(qp.max_rd_atomic, 255u));
  request.qp.initiator_depth = request.qp.responder_resources = reads;
  request.qp.rnr_retry = qp.rnr_retry;
  call.mad = to_mad(call.comm_id, request);
  return call;
}

Result<std::vector<Dialled>> ActiveSide::dial(const Terms& terms, const transport::QpConfig& qp,
                                              std::uint32_t count) {
  calls_.clear();
  for (std::uint32_t i = 0; i < count; ++i) calls_.push_back(request(terms, qp));
  if (auto ran = run(); !ran) return std::unexpected(ran.error());
  if (!all_done()) {
    return fail(fmt::format("{} answers pings but not a wish to connect: is it `roce-gen respond`?",
                            to_string(config_.peer.ip)),
                ExitCode::environment);
  }
  std::vector<Dialled> dialled;
  for (const Call& call : calls_) dialled.push_back(connect(call, terms, qp));
  return dialled;
}

Dialled ActiveSide::connect(const Call& call, const Terms& terms, transport::QpConfig qp) {
  qp.qpn = call.qpn;
  qp.dest_qpn = call.reply.qp.qpn;
  qp.send_psn = call.reply.qp.first_psn;
  qp.report_writes = true;
  const CmIds ids{.local = call.comm_id, .remote = call.reply.ids.local};
  ids_[call.qpn] = ids;
  Dialled dialled{.terms = terms_of(terms, call.qpn)};
  if (const auto offer = read_offer(call.reply.data)) dialled.offer = *offer;
  dialled.connection = &endpoint_.add(qp, Places::region(terms), config_.peer);
  endpoint_.send_management(to_mad(CmMessage::rtu, call.comm_id, ids), config_.peer);
  return dialled;
}

Result<void> ActiveSide::hang_up(std::vector<Dialled>& dialled) {
  calls_.clear();
  for (const Dialled& d : dialled) {
    const CmIds ids = ids_[d.connection->qpn()];
    calls_.push_back(
        {.comm_id = ids.local,
         .qpn = d.connection->qpn(),
         .mad = disconnect_mad(ids.local, ids, d.connection->pair().config().dest_qpn)});
  }
  if (auto ran = run(); !ran) return ran;
  for (std::size_t i = 0; i < dialled.size(); ++i) {
    const auto found = findings_.find(calls_[i].comm_id);
    dialled[i].answered = found != findings_.end();
    if (dialled[i].answered) dialled[i].findings = found->second;
    endpoint_.remove(calls_[i].qpn);
    dialled[i].connection = nullptr;
  }
  return {};
}

bool ActiveSide::all_done() const noexcept { return std::ranges::all_of(calls_, &Call::done); }

Result<void> ActiveSide::run() {
  const Instant give_up = nic::now() + config_.patience;
  while (!all_done() && !stop_.load(std::memory_order_relaxed)) {
    const Instant now = nic::now();
    if (now >= give_up) break;
    for (Call& call : calls_) {
      if (call.done || call.next > now) continue;
      endpoint_.send_management(call.mad, config_.peer);
      call.next = now + kBetween;
    }
    if (auto turned = endpoint_.turn(); !turned) return std::unexpected(turned.error());
    if (refused_) {
      return fail(fmt::format("{} refuses: {}", to_string(config_.peer.ip), *refused_),
                  ExitCode::failed);
    }
  }
  return {};
}

void ActiveSide::hear(const roce::Frame& frame) {
  const auto heading = read_heading(frame.payload);
  if (!heading || sender_of(frame.envelope).ip != config_.peer.ip) return;
  for (Call& call : calls_) {
    if (call.comm_id == heading->ids.remote && !call.done) take(call, *heading, frame.payload);
  }
}

void ActiveSide::take(Call& call, const CmHeading& heading, wire::Bytes mad) {
  if (heading.message == CmMessage::rej) {
    refused_ = read_refusal(mad);
  } else if (heading.message == CmMessage::rep) {
    const auto reply = read_reply(mad);
    if (!reply) return;
    call.reply = *reply;
    call.done = true;
  } else if (heading.message == CmMessage::drep) {
    if (const auto findings = read_findings(data_of_pair(mad))) findings_[call.comm_id] = *findings;
    call.done = true;
  }
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/passive_side.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

using wire::CmMessage;

constexpr std::size_t kRemembered = 4096;  // ended connections whose wish may come again
constexpr Duration kBetweenSweeps = std::chrono::seconds(1);

wire::Psn first_psn_of(std::uint32_t qpn) noexcept { return wire::Psn{(qpn * 0x9e3779b1u) >> 8}; }

transport::QpConfig qp_of(const ConnectRequest& request, const Terms& terms, std::uint32_t qpn,
                          const transport::DcqcnConfig& dcqcn) {
  transport::QpConfig qp;
  qp.transport = terms.transport;
  qp.mtu = request.mtu;
  qp.qpn = qpn;
  qp.dest_qpn = request.qp.qpn;
  qp.send_psn = request.qp.first_psn;
  qp.receive_psn = first_psn_of(qpn);
  // An echo may be posted before the one before it is acknowledged: its ACK may have got lost.
  constexpr std::uint32_t kSpare = 64;
  qp.tx_depth = qp.max_outstanding_wqe = terms.depth + kSpare;
  qp.max_rd_atomic = std::max<std::uint32_t>(1, request.qp.initiator_depth);
  qp.timeout = request.ack_timeout;
  qp.retry_count = request.retry_count;
  qp.rnr_retry = request.qp.rnr_retry;
  if (terms.selective_repeat) qp.recovery = transport::Recovery::selective_repeat;
  qp.rate_control = terms.rate_control;
  qp.rate_bps = static_cast<double>(terms.rate_bps);
  qp.dcqcn = dcqcn;
  qp.report_writes = true;
  return qp;
}

}  // namespace

PassiveSide::PassiveSide(Endpoint& endpoint, const Config& config)
    : endpoint_(endpoint), config_(config) {
  endpoint_.on_management = [this](const roce::Frame& frame) { hear(frame); };
}

void PassiveSide::hear(const roce::Frame& frame) {
  const auto heading = read_heading(frame.payload);
  if (!heading) return;
  const OwnAddress peer = sender_of(frame.envelope);
  if (heading->message == CmMessage::req) {
    accept(frame.payload, *heading, peer);
  } else if (heading->message == CmMessage::dreq || heading->message == CmMessage::rej) {
    end(*heading, peer);
  }
}

void PassiveSide::accept(wire::Bytes mad, const CmHeading& heading, const OwnAddress& peer) {
  if (const auto known = served_.find({peer.ip, heading.ids.local}); known != served_.end()) {
    return endpoint_.send_management(known->second.reply, peer);
  }
  const auto request = read_request(mad);
  const std::string why = why_not(request);
  if (!why.empty()) {
    const CmIds ids{.local = 0, .remote = heading.ids.local};
    return endpoint_.send_management(refusal_mad(heading.transaction, ids, why), peer);
  }
  open(*request, *read_terms(request->data), heading.transaction, peer);
}

/// Empty when there is nothing against it; else a sentence for the person over there.
std::string PassiveSide::why_not(const std::optional<ConnectRequest>& request) const {
  if (!request) return "only RC and UC with rdma_cm's TCP port space are served here";
  if (request->port != config_.port) {
    return fmt::format("port {} is served here, not {}", config_.port, request->port);
  }
  const auto terms = read_terms(request->data);
  if (!terms) return "only roce-gen perf of the same version is served here";
  if (terms->transport == wire::Transport::ud && terms->size > request->mtu) {
    return fmt::format("a UD message of {} B doesn't fit the MTU of {} B", terms->size,
                       request->mtu);
  }
  if (memory_ + Places::region(*terms) > config_.memory) {
    return fmt::format("--memory {} doesn't hold another {}",
                       format_bytes(static_cast<double>(config_.memory)),
                       format_bytes(static_cast<double>(Places::region(*terms))));
  }
  return {};
}

void PassiveSide::open(const ConnectRequest& request, const Terms& terms, std::uint64_t transaction,
                       const OwnAddress& peer) {
  const std::uint32_t qpn = endpoint_.reserve_qpn();
  const transport::QpConfig qp = qp_of(request, terms, qpn, config_.dcqcn);
  Connection& connection = endpoint_.add(qp, Places::region(terms), peer);
  memory_ += connection.memory().size();
  const Places places(qpn, terms);
  const bool reads = terms.operation == wire::Operation::read_request;
  const Offer offer{.va = reads ? places.outbox() : places.inbox(),
                    .r_key = connection.memory().r_key()};
  Served& served = served_[{peer.ip, request.comm_id}];
  served.qpn = qpn;
  served.reply = to_mad(transaction, ConnectReply{.ids = {.local = qpn, .remote = request.comm_id},
                                                  .qp = {.qpn = qpn, .first_psn = qp.receive_psn},
                                                  .data = to_private_data(offer)});
  served.service = std::make_unique<Service>(connection, terms);
  ++report_.connections;
  endpoint_.send_management(served.reply, peer);
}

/// What ended before is told again: the answer may have got lost.
void PassiveSide::end(const CmHeading& heading, const OwnAddress& peer) {
  const Asker asker{peer.ip, heading.ids.local};
  const auto served = served_.find(asker);
  if (served != served_.end()) {
    const CmIds ids{.local = served->second.qpn, .remote = heading.ids.local};
    if (farewells_.emplace(asker, MadBytes{}).second) ended_.push_back(asker);
    farewells_[asker] = to_mad(CmMessage::drep, heading.transaction, ids,
                               to_private_data(served->second.service->findings()));
    close(served, false);
  }
  while (ended_.size() > kRemembered) {
    farewells_.erase(ended_.front());
    ended_.pop_front();
  }
  const auto farewell = farewells_.find(asker);
  if (heading.message == CmMessage::dreq && farewell != farewells_.end()) {
    endpoint_.send_management(farewell->second, peer);
  }
}

void PassiveSide::close(std::map<Asker, Served>::iterator served, bool gone) {
  const Service& service = *served->second.service;
  Connection& connection = *endpoint_.find(served->second.qpn);
  const Findings findings = service.findings();
  report_.bytes += service.bytes();
  report_.findings.checked += findings.checked;
  report_.findings.wrong += findings.wrong;
  report_.findings.duplicates += findings.duplicates;
  report_.findings.out_of_sequence += findings.out_of_sequence;
  report_.findings.cnps += findings.cnps;
  report_.findings.dropped += findings.dropped;
  report_.broken += connection.pair().broken() ? 1 : 0;
  report_.gone += gone ? 1 : 0;
  memory_ -= connection.memory().size();
  endpoint_.remove(served->second.qpn);
  served_.erase(served);
  if (served_.empty()) sessions.push_back(std::exchange(report_, {}));
}

void PassiveSide::sweep(Instant now) {
  if (now - swept_ < kBetweenSweeps) return;
  swept_ = now;
  for (auto served = served_.begin(); served != served_.end();) {
    const auto next = std::next(served);
    if (now - endpoint_.find(served->second.qpn)->heard() > config_.gone) close(served, true);
    served = next;
  }
}

void PassiveSide::finish() {
  while (!served_.empty()) close(served_.begin(), true);
}

}  // namespace lw::gen

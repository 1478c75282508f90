// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/qp_run.h"

#include <algorithm>
#include <numeric>

#include "core/limits.h"
#include "gen/otg/limits.h"
#include "gen/otg/rates.h"

namespace lw::gen::otg {
namespace {

using wire::Operation;

/// Receives that wait: as many as messages of the other end may be outstanding.
constexpr std::uint64_t kReceives = 2 * kMostOutstanding;

roce::ClassOfTraffic::Marks marks_of(std::uint64_t dscp, Ecn ecn,
                                     const std::optional<VlanMessage>& vlan) noexcept {
  roce::ClassOfTraffic::Marks marks;
  marks.dscp = static_cast<std::uint8_t>(dscp);
  marks.ecn = static_cast<std::uint8_t>(ecn);
  if (vlan) marks.priority = static_cast<std::uint8_t>(vlan->priority);
  return marks;
}

}  // namespace

QpRun::QpRun(const LabPlan& plan, std::size_t index, double line_bps, const nic::StampClock& clock)
    : plan_(plan),
      index_(index),
      line_bps_(line_bps),
      rate_bps_(line_bps * plan.qps[index].share_percent / 100),
      meter_(static_cast<std::uint32_t>(index), clock),
      depth_(0) {
  for (const PlannedFlow& flow : plan.flows)
    if (flow.qp == index) flows.push_back({.flow = &flow});
  depth_ = depth();
}

/// Messages that fit in 50 ms of the rate, and one more, so that the QP never waits for a
/// completion; READs have their own limit in the transport.
std::uint64_t QpRun::depth() const noexcept {
  constexpr double kSeconds = 0.05, kBits = 8;
  if (flows.empty()) return 1;
  const auto least = std::ranges::min(flows, {}, [](const FlowRun& run) { return run.flow->size; });
  const double messages = rate_bps_ * kSeconds / kBits / static_cast<double>(least.flow->size);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(messages) + 2, 2, kMostOutstanding);
}

bool QpRun::fetches() const noexcept {
  return !flows.empty() && std::ranges::all_of(flows, [](const FlowRun& run) {
    return run.flow->operation == Operation::read_request;
  });
}

QpOffer QpRun::offer() const noexcept {
  const QpParameters& own = planned().parameters;
  const bool reads = std::ranges::any_of(
      flows, [](const FlowRun& run) { return run.flow->operation == Operation::read_request; });
  return {.order = planned().order,
          .ib_mtu = planned().ib_mtu,
          .va = own.virtual_address.value,
          .r_key = static_cast<std::uint32_t>(own.remote_key.value),
          .first_psn = static_cast<std::uint32_t>(own.initial_psn),
          .read_bps = reads ? static_cast<std::uint64_t>(rate_bps_) : 0};
}

roce::ClassOfTraffic QpRun::traffic() const {
  const PlannedHost& host = plan_.hosts[planned().host];
  const PerPortRoce& settings = plan_.ports[host.port].settings;
  const AckAndNak& answers = settings.connection_type.reliable_connection;
  const QpParameters& own = planned().parameters;
  roce::ClassOfTraffic traffic;
  const auto set = [&](roce::ClassKind kind, std::uint64_t dscp, Ecn ecn) {
    traffic.kinds[static_cast<std::size_t>(kind)] = marks_of(dscp, ecn, host.vlan);
  };
  set(roce::ClassKind::data, own.dscp, own.ecn);
  set(roce::ClassKind::ack, answers.ack.ip_dscp.value, answers.ack.ecn_value);
  set(roce::ClassKind::nak, answers.nak.ip_dscp.value, answers.nak.ecn_value);
  set(roce::ClassKind::cnp, settings.cnp.ip_dscp.value, settings.cnp.ecn_value);
  traffic.source_port = roce::SourcePort{.by = roce::SourcePort::By::number,
                                         .number = static_cast<std::uint16_t>(own.udp_source_port)};
  return traffic;
}

transport::QpConfig QpRun::config_of(std::uint32_t number, const QpOffer& offer) const {
  const PerPortRoce& settings = plan_.ports[plan_.hosts[planned().host].port].settings;
  const AckAndNak& answers = settings.connection_type.reliable_connection;
  transport::QpConfig qp;
  qp.mtu = planned().ib_mtu;
  qp.qpn = planned().number;
  qp.dest_qpn = number;
  qp.send_psn = wire::Psn{static_cast<std::uint32_t>(planned().parameters.initial_psn)};
  qp.receive_psn = wire::Psn{offer.first_psn};
  qp.tx_depth = qp.max_outstanding_wqe = static_cast<std::uint32_t>(depth_);
  qp.timeout = answers.enable_retransmission_timeout
                   ? ack_timeout_of(std::chrono::milliseconds(answers.retransmission_timeout_value))
                   : std::uint8_t{0};
  qp.retry_count = static_cast<std::uint8_t>(answers.retransmission_retry_count);
  qp.rate_bps = rate_bps_ > 0 ? rate_bps_ : static_cast<double>(offer.read_bps);
  qp.rate_control = qp.rate_bps <= 0                       ? transport::RateControl::none
                    : settings.dcqcn_settings.enable_dcqcn ? transport::RateControl::dcqcn
                                                           : transport::RateControl::fixed;
  qp.below_link_rate = true;
  qp.notifies = true;
  qp.dcqcn =
      dcqcn_of(settings.dcqcn_settings, settings.cnp, line_bps_ > 0 ? line_bps_ : qp.rate_bps);
  qp.report_writes = true;
  return qp;
}

void QpRun::open(Endpoint& endpoint, const Peer& peer, std::uint32_t number, const QpOffer& offer) {
  remote_ = offer;
  peer_number_ = number;
  outstanding_ = 0;
  const QpParameters& own = planned().parameters;
  Connection::Region region;
  region.size = kMostMessage;
  region.content = &meter_;
  region.place = {.va = own.virtual_address.value,
                  .r_key = static_cast<std::uint32_t>(own.remote_key.value)};
  connection_ = &endpoint.add(config_of(number, offer), std::move(region), peer);
  connection_->watch(&meter_);
  connection_->run(*this);
  for (std::uint64_t i = 0; i < kReceives; ++i) post_receive();
}

void QpRun::close(Endpoint& endpoint) {
  if (connection_ == nullptr) return;
  const Transported last = transported();
  past_ = last;
  connection_ = nullptr;
  endpoint.remove(planned().number);
}

void QpRun::post_receive() {
  connection_->post(transport::Receive{.va = planned().parameters.virtual_address.value,
                                       .length = static_cast<std::uint32_t>(kMostMessage)});
}

QpRun::Transported QpRun::transported() const noexcept {
  if (connection_ == nullptr) return past_;
  const transport::QueuePair& pair = connection_->pair();
  const transport::RequesterCounters& requests = pair.requester().counters();
  return {
      past_.retransmitted + requests.retransmitted,
      past_.out_of_sequence + requests.implied_naks + pair.responder_counters().out_of_sequence};
}

std::uint64_t QpRun::retransmitted() const noexcept {
  return transported().retransmitted - before_.retransmitted;
}

std::uint64_t QpRun::out_of_sequence() const noexcept {
  return transported().out_of_sequence - before_.out_of_sequence;
}

std::uint64_t QpRun::fetched() const noexcept {
  std::uint64_t sum = 0;
  for (const FlowRun& run : flows)
    if (run.flow->operation == Operation::read_request) sum += run.completed;
  return sum;
}

void QpRun::clear() {
  meter_.clear();
  before_ = transported();
  arrived_ = 0;
  started_ = last_completion_ = nic::now();
  for (FlowRun& run : flows) run.posted = run.completed = run.failed = 0;
}

/// The started flows post in turn.
FlowRun* QpRun::next_flow() noexcept {
  for (std::size_t i = 0; i < flows.size(); ++i) {
    FlowRun& run = flows[turn_++ % flows.size()];
    if (run.state == FlowRun::State::started) return &run;
  }
  return nullptr;
}

void QpRun::post(Instant now) {
  if (connection_ == nullptr || rate_bps_ <= 0 || broken()) return;
  while (outstanding_ < depth_) {
    FlowRun* run = next_flow();
    if (run == nullptr) return;
    const PlannedFlow& flow = *run->flow;
    const bool posted = connection_->post(
        transport::WorkRequest{.id = static_cast<std::uint64_t>(run - flows.data()),
                               .operation = flow.operation,
                               .immediate = flow.immediate,
                               .length = flow.size,
                               .word = flow.word,
                               .local_va = planned().parameters.virtual_address.value,
                               .remote_va = remote_.va,
                               .r_key = remote_.r_key},
        now);
    if (!posted) return;
    ++run->posted;
    ++outstanding_;
  }
}

void QpRun::on_completion(transport::QpSet& /*qps*/, std::uint32_t /*qp*/,
                          const transport::Completion& done, Instant now) {
  if (done.arrival) {
    ++arrived_;
    if (done.operation == Operation::send || done.immediate) post_receive();
    return;
  }
  outstanding_ -= outstanding_ > 0 ? 1 : 0;
  FlowRun& run = flows[done.id];
  const bool right = done.status == transport::Status::success;
  right ? ++run.completed : ++run.failed;
  if (right) last_completion_ = now;
  post(now);
}

}  // namespace lw::gen::otg

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/client_session.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

namespace lw::gen::endpoint {
namespace {

using handover::Done;
using wire::Operation;

constexpr Duration kCheckEvery = std::chrono::milliseconds(50);

/// Session parameters. A QP has as many slots as messages in flight, and twice as many if receives
/// are used, so that the server has receives while it checks what arrived.
SessionParams params_of(const perf::PerfConfig& config, bool latency,
                        std::uint32_t slots) noexcept {
  SessionParams params{.transport = config.qp.transport,
                       .operation = config.operation,
                       .immediate = config.immediate,
                       .echo = latency && config.sends_data() && !config.read_back,
                       .both = config.both,
                       .read_back = config.read_back,
                       .size = config.message_bytes(),
                       .depth = latency ? 1 : config.qp.tx_depth};
  params.slots = std::max(slots, params.takes_receive() ? 2 * params.depth : params.depth);
  return params;
}

}  // namespace

ClientSession::ClientSession(const Device& device, const VerbsClientOptions& options,
                             const perf::PerfConfig& config, bool latency,
                             const std::atomic<bool>& stop)
    : device_(device),
      options_(options),
      config_(config),
      params_(params_of(config, latency, options.verbs.slots)),
      stop_(stop),
      layout_(params_, config.qps) {}

ClientSession::Flow& ClientSession::flow_of(std::uint32_t qpn) noexcept {
  return *std::ranges::find(flows_, qpn, [](const Flow& flow) { return flow.qp.qpn(); });
}

Result<void> ClientSession::open() {
  // Slow preparations come first: a server waits only a few seconds for the first line of a
  // connection.
  if (auto prepared = prepare(); !prepared) return prepared;
  auto link = handover::Client::connect(options_.connect, options_.wait);
  if (!link) return std::unexpected(link.error());
  link_.emplace(std::move(*link));
  const auto gid = device_.gid_for(link_->local());
  if (!gid) return std::unexpected(gid.error());
  auto offer = link_->open(hello(*gid), kAnswerWithin, stop_);
  if (!offer) return std::unexpected(offer.error());
  return connect(std::move(*offer), *gid);
}

Result<void> ClientSession::prepare() {
  if (auto made = make_memory(); !made) return made;
  return make_qps();
}

Result<void> ClientSession::connect(handover::Offer offer, const PortGid& gid) {
  if (auto same = handover::check_encapsulation(offer, !gid.rocev2); !same) return same;
  offer_ = std::move(offer);
  progressed_ = time_now();
  stalls_.start(progressed_);
  return connect_qps(gid);
}

Result<void> ClientSession::make_memory() {
  domain_.reset(ibv_alloc_pd(device_.context()));
  if (!domain_)
    return fail(fmt::format("{}: no protection domain: {}", device_.name(), last_error()),
                ExitCode::environment);
  if (!params_.fetches())
    if (auto made = make_box(outbox_, 0); !made) return made;
  if (!params_.fetches() && !params_.echo && !params_.read_back) return {};
  // Only the echo of a WRITE arrives by a request of the server; all other requests are local.
  const bool written = params_.echo && params_.operation == Operation::write;
  return make_box(inbox_,
                  IBV_ACCESS_LOCAL_WRITE | (written ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0U));
}

Result<void> ClientSession::make_box(Box& box, unsigned access) {
  const auto size = layout_.size();
  if (!size) return fail("the messages in flight are more than 2^64 B");
  auto region = Region::map({.size = *size, .file = "", .huge_pages = false});
  if (!region) return std::unexpected(region.error());
  box.region = std::move(*region);
  auto registered =
      register_memory(device_, domain_.get(), box.region.data(), box.region.size(), access);
  if (!registered) return std::unexpected(registered.error());
  box.registered = std::move(*registered);
  return {};
}

Result<void> ClientSession::make_qps() {
  const std::uint32_t sends = params_.depth + (params_.read_back ? 2 : 1);
  const std::uint32_t receives = params_.echo ? 2 : 1;
  auto completions = VerbsCompletions::create(device_, config_.qps * (sends + receives) + 16,
                                              options_.verbs.events);
  if (!completions) return std::unexpected(completions.error());
  completions_ = std::move(*completions);
  const unsigned access = params_.echo && params_.operation == Operation::write
                              ? unsigned{IBV_ACCESS_REMOTE_WRITE}
                              : 0U;
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    auto qp = VerbsQp::create(device_, domain_.get(), *completions_,
                              {.transport = params_.transport,
                               .sends = sends,
                               .receives = receives,
                               .inline_bytes = options_.verbs.inlined ? params_.size : 0,
                               .access = access});
    if (!qp) return std::unexpected(qp.error());
    const std::uint32_t qpn = qp->qpn();
    flows_.push_back({.index = i,
                      .qp = std::move(*qp),
                      .remote = {},
                      .sent = PayloadPattern(Side::client, qpn),
                      .received = PayloadPattern(Side::responder, qpn)});
  }
  return {};
}

handover::Hello ClientSession::hello(const PortGid& gid) const {
  handover::Hello hello{.token = options_.token,
                        .params = params_,
                        .count = config_.duration > Duration{} ? 0 : config_.iterations,
                        .duration = config_.both ? config_.duration : Duration{},
                        .margin = config_.both ? config_.margin : Duration{},
                        .checked = options_.verbs.checked,
                        .mtu = config_.qp.mtu,
                        .timeout = config_.qp.timeout,
                        .retries = config_.qp.retry_count,
                        .rnr_retries = config_.qp.rnr_retry,
                        .traffic = options_.traffic,
                        .gid = gid.gid,
                        .qps = {}};
  for (const Flow& flow : flows_)
    hello.qps.push_back(
        {.qpn = flow.qp.qpn(),
         .psn = flow.qp.psn(),
         .va = inbox_.registered ? inbox_.region.va() + layout_.at(flow.index, 0) : 0,
         .r_key = inbox_.registered ? inbox_.registered->rkey : 0});
  return hello;
}

Result<void> ClientSession::connect_qps(const PortGid& gid) {
  const auto most = static_cast<std::uint32_t>(device_.limits().max_qp_init_rd_atom);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    flows_[i].remote = offer_.qps[i];
    if (auto connected = flows_[i].qp.connect(
            device_,
            {.qp = offer_.qps[i],
             .gid = offer_.gid,
             .gid_index = gid.index,
             .mtu = std::min(config_.qp.mtu, offer_.mtu),
             .timeout = config_.qp.timeout,
             .retries = config_.qp.retry_count,
             .rnr_retries = config_.qp.rnr_retry,
             .reads_sent = std::min({most, offer_.max_rd_atomic, config_.qp.max_rd_atomic}),
             .reads_taken = 1,
             .q_key = offer_.q_key,
             .traffic = options_.traffic});
        !connected)
      return connected;
  }
  return {};
}

void ClientSession::fill(Flow& flow, std::uint64_t number) {
  if (wire::is_atomic(params_.operation)) return;
  if (!params_.fetches() && (options_.verbs.checked || params_.lossy()))
    flow.sent.write(slot(outbox_, flow, number), number);
  if (options_.verbs.checked && (params_.operation == Operation::read_request || params_.read_back))
    PayloadPattern::clear(slot(inbox_, flow, number));
}

ibv_send_wr ClientSession::request_of(const Flow& flow, std::uint64_t number, ibv_sge& piece,
                                      bool signalled) const {
  const bool out = !params_.fetches();
  piece = piece_of(out ? outbox_ : inbox_, flow, number);
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.imm_data = htonl(static_cast<std::uint32_t>(number));
  if (signalled) request.send_flags |= IBV_SEND_SIGNALED;
  if (out && options_.verbs.inlined) request.send_flags |= IBV_SEND_INLINE;
  request.wr.rdma = {remote_slot(flow, number), flow.remote.r_key};
  switch (params_.operation) {
    case Operation::send:
      request.opcode = params_.immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
      break;
    case Operation::read_request:
      request.opcode = IBV_WR_RDMA_READ;
      break;
    case Operation::fetch_add:
    case Operation::cmp_swap: {
      const bool add = params_.operation == Operation::fetch_add;
      request.opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
      request.wr.atomic = {flow.remote.va, add ? 1 : number, number + 1, flow.remote.r_key};
      break;
    }
    default:
      request.opcode = params_.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  }
  return request;
}

ibv_send_wr ClientSession::read_back_of(const Flow& flow, std::uint64_t number,
                                        ibv_sge& piece) const {
  piece = piece_of(inbox_, flow, number);
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {remote_slot(flow, number), flow.remote.r_key};
  return request;
}

bool ClientSession::right(const Flow& flow, std::uint64_t number) const {
  if (!options_.verbs.checked || !inbox_.registered) return true;
  const auto got = slot(inbox_, flow, number);
  if (wire::is_atomic(params_.operation)) {
    std::uint64_t original = 0;
    std::memcpy(&original, got.data(), sizeof original);
    return original == number;
  }
  if (params_.operation == Operation::read_request)
    return flow.received.holds(got, number % params_.slots);
  return !params_.read_back || flow.sent.holds(got, number);
}

Error ClientSession::failure_of(const ibv_wc& done) const {
  return {fmt::format("request {} of QP {:#x}: {}{}{}", done.wr_id, done.qp_num,
                      explain(done.status), gone_ ? "; " : "", gone_ ? gone_->message : ""),
          ExitCode::failed};
}

Duration ClientSession::longest_retry() const noexcept {
  const Duration once = transport::transport_timeout(config_.qp.timeout);
  return std::chrono::seconds(2) + 4 * once * (config_.qp.retry_count + 1);
}

Result<void> ClientSession::idle() {
  if (completions_->has_events()) stalls_.sleeps(kCheckEvery);
  completions_->wait(kCheckEvery, -1);
  if (!completions_->has_events() && ++idle_rounds_ % 256 != 0) return {};
  const Instant now = time_now();
  stalls_.poll(now);
  if (now < check_at_) return {};
  check_at_ = now + kCheckEvery;
  if (link_ && stopped() && !stopped_at_) stopped_at_ = now;
  if (stopped_at_ && now - *stopped_at_ > kWaitAfterStop)
    return fail("stopped by a signal; what was sent before is not acknowledged", ExitCode::failed);
  if (!gone_) {
    const auto there = link_ ? link_->check() : Result<void>();
    if (!there) {
      gone_ = there.error();
      gone_at_ = now;
    }
  } else if (now - gone_at_ > longest_retry()) {
    return std::unexpected(*gone_);
  }
  if (now - progressed_ > kAnswerWithin)
    return fail(fmt::format("no message completed for {}: is the path still there?",
                            format_set_duration(kAnswerWithin)),
                ExitCode::failed);
  return {};
}

Done ClientSession::done() const {
  Done done;
  for (const Flow& flow : flows_) {
    done.messages.push_back(flow.posted);
    done.bytes += flow.posted * params_.size;
  }
  done.stopped = stopped();
  return done;
}

Result<void> ClientSession::end(PerfOutcome& outcome) {
  // After a signal the report is still wanted, but not for long.
  static const std::atomic<bool> kGoOn{false};
  const auto report = stopped() ? link_->finish(done(), kWaitAfterStop, kGoOn)
                                : link_->finish(done(), kAnswerWithin, stop_);
  if (!report) return std::unexpected(report.error());
  return take_report(*report, outcome);
}

Result<void> ClientSession::end_both(PerfOutcome& outcome) {
  static const std::atomic<bool> kGoOn{false};
  const auto line = link_->link().receive(stopped() ? kWaitAfterStop : kAnswerWithin, kGoOn);
  if (!line) return std::unexpected(line.error());
  const auto report = handover::read_report(*line);
  if (!report) return std::unexpected(report.error());
  return take_report(*report, outcome);
}

Result<void> ClientSession::take_report(const handover::Report& report,
                                        PerfOutcome& outcome) const {
  if (!report.failure.empty())
    return fail(fmt::format("the server: {}", report.failure), ExitCode::failed);
  outcome.wrong += report.stats.wrong;
  std::uint64_t sent = 0;
  for (const Flow& flow : flows_) sent += flow.posted;
  if (params_.lossy() && report.counted)
    outcome.lost_messages = sent - std::min(sent, report.messages);
  outcome.arrivals_unknown = params_.lossy() && !report.counted;
  outcome.device->server = {report.stats, report.counted, report.messages, report.bytes,
                            report.counters};
  return {};
}

}  // namespace lw::gen::endpoint

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/traffic/perf_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/perf/cm/connection_manager.h"
#include "gen/perf/cm/device_connector.h"
#include "gen/perf/traffic/client_traffic.h"
#include "gen/ranks/companions.h"
#include "nic/clock.h"

namespace lw::gen {

using wire::Operation;

namespace {

/// A process of a common run: what it does for and with the others while it measures.
class CommonPerf {
 public:
  /// `passive` may be null: it doesn't respond. All must outlive this object.
  CommonPerf(Companions& companions, Endpoint& endpoint, PassiveSide* passive,
             const std::atomic<bool>& stop)
      : companions_(companions), endpoint_(endpoint), passive_(passive), stop_(stop) {}

  /// Waits for the common start.
  Result<void> start() {
    const auto agreed = companions_.start(clock_, [this] { work(); });
    if (!agreed) return std::unexpected(agreed.error());
    while (nic::now() < agreed->at && !stop_.load(std::memory_order_relaxed)) work();
    late_ = nic::now() - agreed->at;
    companions_.begun();
    return error_;
  }
  /// Takes the others' messages, once a millisecond.
  void poll(Instant now) {
    if (now < next_poll_) return;
    next_poll_ = now + std::chrono::milliseconds(1);
    companions_.poll();
    if (passive_ != nullptr) passive_->sweep(now);
  }
  /// Answers the others until all have sent their messages.
  Result<void> sent(std::uint64_t messages) {
    companions_.sent(messages, {});
    while (!companions_.all_sent() && !stop_.load(std::memory_order_relaxed)) work();
    return error_;
  }
  /// Answers the others until all have closed their connections.
  void end() {
    companions_.end([this] { work(); });
  }
  [[nodiscard]] Duration late() const noexcept { return late_; }

 private:
  void work() {
    if (auto polled = endpoint_.poll(); !polled && error_) error_ = std::unexpected(polled.error());
    poll(nic::now());
  }

  Companions& companions_;
  Endpoint& endpoint_;
  PassiveSide* passive_;
  const std::atomic<bool>& stop_;
  nic::StampClock clock_;
  Result<void> error_;
  Instant next_poll_{};
  Duration late_{0};
};

/// Connections to several responders, each with the same number.
class PeersConnector final : public Connector {
 public:
  void add(std::unique_ptr<ActiveSide> peer) { peers_.push_back(std::move(peer)); }

  Result<std::vector<Connected>> connect(const SessionParams& params, const transport::QpConfig& qp,
                                         std::uint32_t count) override {
    std::vector<Connected> all;
    each_ = count;
    for (const auto& peer : peers_) {
      auto connected = peer->connect(params, qp, count);
      if (!connected) return connected;
      std::ranges::move(*connected, std::back_inserter(all));
    }
    return all;
  }
  Result<void> check() override {
    for (const auto& peer : peers_)
      if (auto there = peer->check(); !there) return there;
    return {};
  }
  Result<void> disconnect(std::vector<Connected>& connected) override {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const auto first = connected.begin() + static_cast<std::ptrdiff_t>(i * each_);
      std::vector<Connected> own(first, first + static_cast<std::ptrdiff_t>(each_));
      if (auto closed = peers_[i]->disconnect(own); !closed) return closed;
      std::ranges::move(own, first);
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<ActiveSide>> peers_;
  std::size_t each_ = 0;  // connections of a peer
};

/// A client like perftest's in real time: connects, moves `iterations` messages on each QP, and
/// disconnects.
class PerfClient {
 public:
  /// `endpoint`, `connector`, `stop` (ends a run early), `series`, `intervals` and `data` (see
  /// Connected) must outlive it.
  PerfClient(Endpoint& endpoint, Connector& connector, const std::atomic<bool>& stop,
             PerfSeries& series, IntervalReport& intervals, std::span<const std::byte> data,
             Verify verify, CommonPerf* common = nullptr)
      : common_(common),
        endpoint_(endpoint),
        connector_(connector),
        stop_(stop),
        series_(series),
        intervals_(intervals),
        data_(data),
        verify_(verify) {}

  /// Keeps as many messages outstanding as the windows allow. Requires iterations >= 1.
  Result<ClientResult> bandwidth(const perf::PerfConfig& config);
  /// Sends one message at a time on one QP. SEND and WRITE are ping-pongs, READ and atomics are
  /// not; with `read_back`, a WRITE is followed by a READ that fetches it back.
  Result<ClientResult> latency(const perf::PerfConfig& config);
  /// Pings rping's server, one ping at a time.
  Result<ClientResult> rping(const perf::PerfConfig& config);

 private:
  [[nodiscard]] SessionParams verified(SessionParams params) const noexcept;
  template <class Kind>
  Result<void> move(Kind& traffic);
  template <class Kind>
  Result<ClientResult> run(const perf::PerfConfig& config, const SessionParams& params);

  CommonPerf* common_;  // of a run of several processes; null: this one alone
  Endpoint& endpoint_;
  Connector& connector_;
  const std::atomic<bool>& stop_;
  PerfSeries& series_;
  IntervalReport& intervals_;
  std::span<const std::byte> data_;
  Verify verify_;
};

/// Returns the parameters of one connection. It is as deep as the send window and has as many
/// slots, because a slot is used again only after its message is complete. The inboxes of all
/// connections together have 256 MiB; each has at most 64 MiB, and at least 16 MiB or one message.
SessionParams session_params_of(const perf::PerfConfig& config, bool echo) noexcept {
  constexpr std::uint64_t kMiB = 1u << 20;
  const std::uint64_t inbox = std::clamp(256 * kMiB / config.qps, 16 * kMiB, 64 * kMiB);
  SessionParams params{
      .transport = config.qp.transport,
      .operation = config.operation,
      .immediate = config.immediate,
      .echo = echo,
      .both = config.both,
      .size = config.message_bytes(),
      .rate_control = config.qp.rate_control,
      .rate_bps = static_cast<std::uint64_t>(config.qp.rate_bps),
      .selective_repeat = config.qp.recovery == transport::LossRecovery::selective_repeat};
  if (!transport::is_path_mtu(config.qp.mtu))
    params.packet_payload = static_cast<std::uint16_t>(config.qp.mtu);
  params.depth = std::min(config.qp.tx_depth, config.qp.max_outstanding_wqe);
  if (config.is_atomic()) return params;
  const std::uint64_t fit = std::max<std::uint64_t>(1, inbox / params.size);
  params.depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(params.depth, fit));
  params.slots = params.depth;
  return params;
}

template <class Kind>
Result<void> PerfClient::move(Kind& traffic) {
  constexpr Duration kTimeout = std::chrono::seconds(60);
  constexpr Duration kBetweenChecks = std::chrono::milliseconds(100);
  std::uint64_t completed = 0;
  Instant progressed = nic::now(), checked = progressed;
  intervals_.start(progressed);
  while (!traffic.done() && !stop_.load(std::memory_order_relaxed)) {
    const auto polled = endpoint_.poll();
    if (!polled) return std::unexpected(polled.error());
    traffic.sample(series_);
    traffic.report(intervals_, endpoint_.now());
    if (common_ != nullptr) common_->poll(nic::now());
    if (*polled) continue;
    const Instant now = nic::now();
    if (now - checked > kBetweenChecks) {
      checked = now;
      if (auto there = connector_.check(); !there) return there;
    }
    if (traffic.completed() != completed) {
      completed = traffic.completed();
      progressed = now;
    } else if (now - progressed > kTimeout) {
      return fail(fmt::format("no message completed for {}: is the responder still there?",
                              format_set_duration(kTimeout)),
                  ExitCode::failed);
    }
  }
  traffic.report_last(intervals_, nic::now());
  return {};
}

template <class Kind>
Result<ClientResult> PerfClient::run(const perf::PerfConfig& config, const SessionParams& params) {
  transport::QpConfig qp = config.qp;
  // A slot is used again only after its message is complete.
  if (!config.is_atomic() && !config.read_back) qp.tx_depth = std::min(qp.tx_depth, params.slots);
  auto connected = connector_.connect(params, qp, config.qps);
  if (!connected) return std::unexpected(connected.error());
  connected->front().data = data_;
  Kind traffic(config, *connected);
  if (common_ != nullptr)
    if (auto started = common_->start(); !started) return std::unexpected(started.error());
  traffic.start();
  if (auto moved = move(traffic); !moved) return std::unexpected(moved.error());
  traffic.finish();
  if (common_ != nullptr)
    if (auto sent = common_->sent(traffic.completed()); !sent) return std::unexpected(sent.error());
  traffic.tell_posted(*connected);
  if (auto disconnected = connector_.disconnect(*connected); !disconnected)
    return std::unexpected(disconnected.error());
  ClientResult result = std::move(traffic.result);
  result.peer_answered = std::ranges::all_of(*connected, &Connected::answered);
  result.peer_counted = std::ranges::all_of(*connected, &Connected::counted);
  result.transport = params.transport;
  result.intervals = intervals_.extremes();
  for (const Connected& d : *connected) result.peer += d.stats;
  return result;
}

/// Adds how the messages are verified, and whether they need memory.
SessionParams PerfClient::verified(SessionParams params) const noexcept {
  params.verify = verify_;
  params.computed = params.computable() && data_.empty();
  return params;
}

Result<ClientResult> PerfClient::bandwidth(const perf::PerfConfig& config) {
  SessionParams params = session_params_of(config, false);
  // A device acknowledges a message before its program has checked it. With twice the slots, a slot
  // is not used again before the program has posted the next receive.
  if (connector_.to_device() && params.immediate) params.slots = 2 * params.depth;
  if (!data_.empty()) params.slots = static_cast<std::uint32_t>(config.iterations);
  return run<BandwidthTraffic>(config, verified(params));
}

Result<ClientResult> PerfClient::latency(const perf::PerfConfig& config) {
  perf::PerfConfig one = config;
  one.qps = 1;
  if (config.read_back) one.qp.tx_depth = std::max(one.qp.tx_depth, 2u);
  const bool echo = config.sends_data() && !config.read_back;
  SessionParams params = session_params_of(one, echo);
  params.depth = params.slots = 1;
  params.read_back = config.read_back;
  params = verified(params);
  return config.read_back ? run<ReadBackTraffic>(one, params) : run<LatencyTraffic>(one, params);
}

Result<ClientResult> PerfClient::rping(const perf::PerfConfig& config) {
  perf::PerfConfig one = config;
  one.qps = 1;
  one.qp.tx_depth = one.qp.max_outstanding_wqe =
      ping_params(config.size).depth + transport::kSpareRequests;
  return run<PingTraffic>(one, ping_params(config.size));
}

using MadeConnector = Result<std::unique_ptr<Connector>>;

/// Connects to roce-gen respond, or to rping's server; `service` is the address.
MadeConnector managed_connector(const EndpointOptions& options, const PeerOptions& peer,
                                const HostService& service, EndpointContext& context,
                                const std::atomic<bool>& stop) {
  const auto mac = peer.mac.empty() ? context.port().resolve(service.ip, options.wait, stop)
                                    : read_mac("--peer-mac", peer.mac);
  if (!mac) return std::unexpected(mac.error());
  return std::make_unique<ActiveSide>(
      context.endpoint(),
      ActiveSide::Config{
          .peer = {*mac, service.ip}, .port = service.service, .timeout = options.wait},
      stop);
}

/// Connects to the QPs of a device.
MadeConnector device_connector(const EndpointOptions& options, const PeerOptions& peer,
                               EndpointContext& context, const std::atomic<bool>& stop) {
  DeviceConnector::Config config{
      .where = peer.ip, .token = peer.token, .checked = peer.data.empty(), .timeout = options.wait};
  if (!peer.mac.empty()) {
    const auto mac = read_mac("--peer-mac", peer.mac);
    if (!mac) return std::unexpected(mac.error());
    config.mac = *mac;
  }
  return std::make_unique<DeviceConnector>(context.endpoint(), context.port(), std::move(config),
                                           stop);
}

/// Returns the address of the responder's connection management; nothing if the peer is a device.
Result<std::optional<HostService>> service_of(const EndpointOptions& options,
                                              const PeerOptions& peer) {
  if (peer.device()) return std::nullopt;
  if (!peer.cm.empty()) return read_host_service("--cm", peer.cm);
  const auto ip = read_ip("--peer", peer.ip);
  if (!ip) return std::unexpected(ip.error());
  return HostService{.ip = *ip, .service = options.service};
}

/// UC and UD: subtracts messages that didn't arrive, because the client measures what it sends.
void keep_goodput(perf::BandwidthResult& bandwidth, std::uint64_t sent, std::uint64_t lost) {
  if (sent == 0) return;
  const double share = 1 - static_cast<double>(lost) / static_cast<double>(sent);
  bandwidth.average_bps *= share;
  bandwidth.steady_bps *= share;
  bandwidth.peak_bps *= share;
}

PerfOutcome outcome_of(ClientResult result, const EndpointOptions& options, const PeerOptions& peer,
                       const FramePortCounters& port) {
  PerfOutcome outcome{.bandwidth = std::move(result.bandwidth),
                      .latency = std::move(result.latency),
                      .wrong = result.wrong + result.peer.wrong};
  outcome.port = {options.port, peer.name(),   result.transport, peer.verify,
                  result.wrong, port.bad_icrc, port.not_sent,    {}};
  outcome.intervals = result.intervals;
  outcome.bandwidth.cnps += result.peer.cnps;
  if (!result.peer_answered) return outcome;
  outcome.port->responder = {result.peer, {}};
  if (result.transport == wire::Transport::rc) return outcome;
  const std::uint64_t sent = outcome.bandwidth.messages;
  outcome.port->responder->dropped = result.peer.dropped;
  outcome.arrivals_unknown = !result.peer_counted;
  if (outcome.arrivals_unknown) return outcome;
  const std::uint64_t arrived =
      result.peer.checked - std::min(result.peer.checked, result.peer.duplicates);
  outcome.lost_messages = sent - std::min(sent, arrived);
  keep_goodput(outcome.bandwidth, sent, *outcome.lost_messages);
  return outcome;
}

/// Sets the first rate of a rate control to the link's rate if none is configured.
Result<perf::PerfConfig> with_rate(perf::PerfConfig config, const EndpointContext& context,
                                   const std::string& port) {
  if (config.qp.rate_control == transport::RateControl::none || config.qp.rate_bps > 0) {
    return config;
  }
  const auto link = context.link_bps();
  if (!link) {
    return fail(
        fmt::format("--rate-control: the port `{}` has no link rate to "
                    "start with: give one, such as --qp-rate 1Gb/s",
                    port));
  }
  config.qp.rate_bps = *link;
  return config;
}

/// Returns the size in bytes of the longest data frame that a client sends.
std::size_t longest_client_frame(const perf::PerfConfig& config, roce::FrameFields fields) {
  constexpr std::uint8_t kUdSend = 0x64, kWriteFirst = 0x06, kSend = 0x04;
  const bool ud = config.qp.transport == wire::Transport::ud;
  fields.bth.opcode = ud ? kUdSend : config.operation == Operation::write ? kWriteFirst : kSend;
  return roce::layout_of(fields, config.sends_data() ? std::min(config.size, config.qp.mtu) : 0)
      .size;
}

/// Returns the CPU time of this process, user and system.
Duration cpu_time() noexcept {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration{time.tv_nsec};
}

}  // namespace

Result<void> run_in_real_time(const EndpointOptions& options, const PeerOptions& peer, bool latency,
                              PerfSeries& series, IntervalReport& intervals,
                              const std::atomic<bool>& stop,
                              const std::function<Result<void>(const PerfMeasure&)>& run) {
  const auto service = service_of(options, peer);
  if (!service) return std::unexpected(service.error());
  const auto own = address_of(options, 1, *service ? std::optional((*service)->ip) : std::nullopt);
  if (!own) return std::unexpected(own.error());
  auto context = EndpointContext::open(options, *own);
  if (!context) return std::unexpected(context.error());
  if (auto up = (*context)->wait_link(options.wait, stop); !up) return up;
  const auto connector = *service ? managed_connector(options, peer, **service, **context, stop)
                                  : device_connector(options, peer, **context, stop);
  if (!connector) return std::unexpected(connector.error());
  PerfClient client((*context)->endpoint(), **connector, stop, series, intervals, peer.data,
                    peer.verify);
  const auto measure = [&](const perf::PerfConfig& asked) -> Result<PerfOutcome> {
    const auto config = with_rate(asked, **context, options.port);
    if (!config) return std::unexpected(config.error());
    const auto fields = (*context)->port().fields_to({*own});
    const std::size_t longest = longest_client_frame(*config, fields);
    if (auto fits = (*context)->check_frame(longest); !fits) return std::unexpected(fits.error());
    (*context)->begin_watch();
    const Duration worked = cpu_time();
    const Instant began = nic::now();
    auto result = !peer.cm.empty() ? client.rping(*config)
                  : latency        ? client.latency(*config)
                                   : client.bandwidth(*config);
    if (!result) return std::unexpected(result.error());
    const Duration took = nic::now() - began;
    if (const auto link = (*context)->link_bps())
      perf::keep_measurable(result->bandwidth, *link * (config->both ? 2 : 1));
    PerfOutcome outcome =
        outcome_of(std::move(*result), options, peer, (*context)->port().counters());
    outcome.machine = (*context)->machine();
    const Endpoint& endpoint = (*context)->endpoint();
    outcome.port->traffic = endpoint.channel().traffic();
    outcome.port->classes = endpoint.classes().counts();
    outcome.port->other_partition = endpoint.other_partition();
    outcome.cpu_share =
        static_cast<double>((cpu_time() - worked).count()) / static_cast<double>(took.count());
    return outcome;
  };
  auto ran = run(measure);
  auto closed = (*context)->close();
  return ran ? closed : ran;
}

namespace {

/// All sessions of a responder as one.
SessionReport sum_of(const std::deque<SessionReport>& sessions) {
  SessionReport sum;
  for (const SessionReport& session : sessions) {
    sum.connections += session.connections;
    sum.bytes += session.bytes;
    sum.stats += session.stats;
    sum.compared += session.compared;
    sum.broken += session.broken;
    sum.gone += session.gone;
  }
  return sum;
}

using OnManagement = std::function<void(const roce::Frame&)>;

/// Lets both sides of connection management see each datagram: each takes its own messages.
void share_management(Endpoint& endpoint, std::vector<OnManagement> sides) {
  endpoint.on_management = [sides = std::move(sides)](const roce::Frame& frame) {
    for (const OnManagement& side : sides) side(frame);
  };
}

}  // namespace

Result<RankOutcome> run_among_ranks(const EndpointOptions& options, const RankPart& part,
                                    Verify verify, const perf::PerfConfig& asked,
                                    Companions& companions, const std::atomic<bool>& stop) {
  auto context = EndpointContext::open(options, part.own);
  if (!context) return std::unexpected(context.error());
  Endpoint& endpoint = (*context)->endpoint();
  if (auto up = (*context)->wait_link(options.wait, stop); !up) return std::unexpected(up.error());
  const auto config = with_rate(asked, **context, options.port);
  if (!config) return std::unexpected(config.error());
  const std::size_t longest =
      longest_client_frame(*config, (*context)->port().fields_to({part.own}));
  if (auto fits = (*context)->check_frame(longest); !fits) return std::unexpected(fits.error());
  constexpr std::uint64_t kMemory = 1u << 30;  // as that of `respond`
  std::vector<OnManagement> sides;
  std::optional<PassiveSide> passive;
  if (part.responds) {
    passive.emplace(endpoint, PassiveSide::Config{.port = options.service, .memory = kMemory});
    sides.push_back(endpoint.on_management);
  }
  PeersConnector connector;
  for (const wire::IpAddress& peer : part.peers) {
    const auto mac = (*context)->port().resolve(peer, options.wait, stop);
    if (!mac) return std::unexpected(mac.error());
    connector.add(std::make_unique<ActiveSide>(
        endpoint,
        ActiveSide::Config{.peer = {*mac, peer}, .port = options.service, .timeout = options.wait},
        stop));
    sides.push_back(endpoint.on_management);
    share_management(endpoint, sides);
  }
  (*context)->begin_watch();
  CommonPerf common(companions, endpoint, passive ? &*passive : nullptr, stop);
  RankOutcome outcome;
  if (part.peers.empty()) {
    if (auto started = common.start(); !started) return std::unexpected(started.error());
    if (auto sent = common.sent(0); !sent) return std::unexpected(sent.error());
  } else {
    auto no_series = PerfSeries::open({});
    if (!no_series) return std::unexpected(no_series.error());
    IntervalReport no_intervals;
    PerfClient client(endpoint, connector, stop, *no_series, no_intervals, {}, verify, &common);
    auto result = client.bandwidth(*config);
    if (!result) return std::unexpected(result.error());
    PeerOptions peers;
    peers.ip = fmt::format("{} peers", part.peers.size());
    peers.verify = verify;
    outcome.sent = outcome_of(std::move(*result), options, peers, (*context)->port().counters());
  }
  common.end();
  if (passive) {
    passive->finish();
    outcome.served = sum_of(passive->sessions);
  }
  outcome.port = (*context)->port().counters();
  outcome.machine = (*context)->machine();
  outcome.started_late = common.late();
  if (auto closed = (*context)->close(); !closed) return std::unexpected(closed.error());
  return outcome;
}

}  // namespace lw::gen

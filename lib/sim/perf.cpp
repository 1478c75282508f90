// SPDX-License-Identifier: BSD-3-Clause
#include "sim/perf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion;
using transport::Status;

Failure failure_of(transport::QpSet& host, std::uint32_t qp, const Completion& done, Instant now) {
  return {done.status, host.qp(qp).config().host, qp, now};
}

namespace {

/// The rate in a window and in its first half.
struct Steady {
  double bps = 0, first_half_bps = 0;
  Duration window{};
};

/// Keeps each QP's send queue full until its messages are all posted.
class Blast : public transport::Application {
 public:
  Blast(const PerfConfig& config, SteadySpan span, std::uint64_t a_qp)
      : request_(request_of(config)), span_(span), left_(config.qps, a_qp) {}

  void start(Simulation& simulation, Host& client) {
    for (std::uint32_t qp = 0; qp < left_.size(); ++qp) {
      while (left_[qp] > 0 && client.post(qp, request_, simulation.now())) --left_[qp];
    }
  }
  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.status != Status::success) {
      if (failed++ == 0) failure = failure_of(host, qp, done, now);
      return;
    }
    last = now;
    if (++completed <= span_.end) note(now);
    if (left_[qp] > 0 && host.post(qp, request_, now)) --left_[qp];
  }
  /// The rate between the first and the last completion of the span.
  [[nodiscard]] Steady steady() const noexcept {
    if (completed < span_.end || end_at <= begin_at) return {};
    const auto bps = [&](std::uint64_t messages, Duration time) {
      return static_cast<double>(messages) * request_.length * 8e9 /
             static_cast<double>(time.count());
    };
    const std::uint64_t middle = span_.middle();
    return {.bps = bps(span_.end - span_.begin, end_at - begin_at),
            .first_half_bps = bps(middle - span_.begin, middle_at - begin_at),
            .window = end_at - begin_at};
  }

  std::uint64_t completed = 0, failed = 0;
  std::optional<Failure> failure;
  Instant last, begin_at, middle_at, end_at;

 private:
  void note(Instant now) noexcept {
    if (completed == span_.begin) begin_at = now;
    if (completed == span_.middle()) middle_at = now;
    if (completed == span_.end) end_at = now;
  }

  transport::WorkRequest request_;
  SteadySpan span_;
  std::vector<std::uint64_t> left_;
};

bool fetches(wire::Operation operation) noexcept {
  return operation != wire::Operation::send && operation != wire::Operation::write;
}

/// Messages that all QPs together may have outstanding.
std::uint64_t window_of(const PerfConfig& config) noexcept {
  std::uint64_t window = std::min(config.qp.tx_depth, config.qp.max_outstanding_wqe);
  if (fetches(config.operation)) window = std::min<std::uint64_t>(window, config.qp.max_rd_atomic);
  return window * config.qps;
}

}  // namespace

SteadySpan steady_span(const PerfConfig& config) noexcept {
  constexpr double kSettled = 10'000;  // packets: the ends of the window count 1e-4 of them
  const Duration round_trip = round_trip_of(config);
  const double path_bytes = static_cast<double>(round_trip.count()) * config.nic.rate_bps / 8e9;
  const double window_bytes = static_cast<double>(window_of(config)) * config.size;
  const double settled_bytes = kSettled * config.qp.mtu;
  if (window_bytes < std::max(3 * path_bytes, settled_bytes)) {
    const auto pairs = 1 + static_cast<std::uint64_t>(
                               std::min(8.0, settled_bytes / 2 / std::max(window_bytes, 1.0)));
    const std::uint64_t windows = 2 * pairs;  // so that both halves are whole windows
    return {windows * window_of(config), 2 * windows * window_of(config), {}, {}};
  }
  const auto trips = 2 + static_cast<std::int64_t>(settled_bytes / path_bytes);
  const Instant from = Instant{} + 3 * round_trip;
  return {0, 0, from, from + trips * round_trip};
}

namespace {

/// One bandwidth run.
class BandwidthRun {
 public:
  BandwidthRun(const PerfConfig& config, const PerfHook& hook)
      : config_(config),
        pair_(connect(simulation_, config)),
        span_(steady_span(config)),
        blast_(config, span_, posts_of_a_qp(config)) {
    if (hook) hook(simulation_);
    pair_.client->run(blast_);
    meter(span_.from, span_.to);
    blast_.start(simulation_, *pair_.client);
  }
  BandwidthResult result();

 private:
  static constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;
  static std::uint64_t posts_of_a_qp(const PerfConfig& config) noexcept {
    return config.iterations > 0 ? config.iterations : kEndless;
  }
  void meter(Instant from, Instant to) noexcept {
    for (Host* host : {pair_.client, pair_.server}) host->meter(from, to);
  }
  [[nodiscard]] bool by_count() const noexcept { return span_.end > 0; }
  [[nodiscard]] std::uint64_t metered() const noexcept {
    return pair_.client->counters().metered_payload + pair_.server->counters().metered_payload;
  }
  /// Runs until `until`, or until `messages` are done. Whether messages are left.
  bool run_until(Instant until, std::uint64_t messages);
  [[nodiscard]] Steady steady() const noexcept;

  const PerfConfig& config_;
  Simulation simulation_;
  PerfPair pair_;
  SteadySpan span_;
  Blast blast_;
  std::uint64_t first_half_ = 0;  // payload, when the window is a time
};

bool BandwidthRun::run_until(Instant until, std::uint64_t messages) {
  while (blast_.completed + blast_.failed < messages) {
    if (simulation_.advance(until)) continue;
    if (until == Instant::max()) return false;
    simulation_.run_until(until);  // the clock only
    return true;
  }
  return false;
}

Steady BandwidthRun::steady() const noexcept {
  if (by_count()) return blast_.steady();
  if (simulation_.now() < span_.to) return {};
  const auto bps = [](std::uint64_t bytes, Duration time) {
    return static_cast<double>(bytes) * 8e9 / static_cast<double>(time.count());
  };
  const Duration window = span_.to - span_.from;
  return {bps(metered(), window), bps(first_half_, window / 2), window};
}

BandwidthResult BandwidthRun::result() {
  const bool given = config_.iterations > 0 || config_.duration > Duration{};
  const std::uint64_t all = config_.iterations > 0 ? config_.iterations * config_.qps : kEndless;
  const Instant end = config_.duration > Duration{} ? Instant{} + config_.duration : Instant::max();
  if (by_count()) {
    run_until(end, given ? all : span_.end);
  } else if (run_until(std::min(end, span_.from + (span_.to - span_.from) / 2), all)) {
    first_half_ = metered();
    if (run_until(std::min(end, span_.to), all) && given) run_until(end, all);
  }
  const bool by_time = config_.duration > Duration{} && blast_.completed < all;
  const Duration elapsed = by_time ? config_.duration : blast_.last - Instant{};
  const Steady steadily = steady();
  BandwidthResult result{.messages = blast_.completed,
                         .bytes = blast_.completed * request_of(config_).length,
                         .elapsed = elapsed,
                         .steady_bps = steadily.bps,
                         .steady_window = steadily.window,
                         .failed = blast_.failed,
                         .failure = blast_.failure,
                         .events = simulation_.events(),
                         .client = pair_.client->counters(),
                         .server = pair_.server->counters(),
                         .there = simulation_.link(0).counters(),
                         .back = simulation_.link(1).counters()};
  if (steadily.bps > 0) result.steady_change = 2 * (1 - steadily.first_half_bps / steadily.bps);
  const auto ns = static_cast<double>(result.elapsed.count());
  result.average_bps = ns > 0 ? static_cast<double>(result.bytes) * 8e9 / ns : 0;
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    const auto& counters = pair_.client->qp(i).requester().counters();
    result.packets += counters.packets;
    result.retransmitted += counters.retransmitted;
    result.timeouts += counters.timeouts;
    result.cnps += pair_.client->qp(i).cnps_sent() + pair_.server->qp(i).cnps_sent();
    result.outstanding += pair_.client->qp(i).requester().outstanding_psns();
  }
  return result;
}

}  // namespace

BandwidthResult run_bandwidth(const PerfConfig& config, const PerfHook& hook) {
  return BandwidthRun(config, hook).result();
}

namespace {

/// Each side answers a message with one like it; the client measures round trips.
class PingPong : public transport::Application {
 public:
  PingPong(const PerfConfig& config, const Host& client)
      : request_(request_of(config)), client_(client.number()), left_(config.iterations) {}

  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.status != Status::success) note_failure(host, qp, done, now);
    if (!done.arrival) return;
    if (host.qp(qp).config().host != client_) {
      host.post(qp, request_, now);
      return;
    }
    add((now - sent_at_).count() / 2);
    if (left_ > 0) ping(host, now);
  }
  virtual void ping(transport::QpSet& client, Instant now) {
    --left_;
    sent_at_ = now;
    client.post(0, request_, now);
  }
  void note_failure(transport::QpSet& host, std::uint32_t qp, const Completion& done, Instant now) {
    if (result.failed++ == 0) result.failure = failure_of(host, qp, done, now);
  }
  void add(std::int64_t ns) {
    result.ns.add(ns);
    sum_ += static_cast<double>(ns);
    squares_ += static_cast<double>(ns) * static_cast<double>(ns);
  }
  void close() {
    const auto n = static_cast<double>(result.ns.count());
    if (n > 0) result.deviation_ns = std::sqrt(std::max(0.0, squares_ / n - sum_ / n * sum_ / n));
  }

  LatencyResult result;

 protected:
  transport::WorkRequest request_;
  std::uint16_t client_;
  std::uint64_t left_;
  Instant sent_at_;

 private:
  double sum_ = 0, squares_ = 0;
};

/// The client posts the next request when it has the response.
class Fetching : public PingPong {
 public:
  using PingPong::PingPong;
  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.status != Status::success) {
      note_failure(host, qp, done, now);
      return;
    }
    add((now - done.posted).count());
    if (left_ > 0) ping(host, now);
  }
};

/// WRITEs to a passive peer, each followed by a READ that brings it back. Only the READ's
/// completion counts.
class ReadBack : public PingPong {
 public:
  using PingPong::PingPong;
  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.status != Status::success) note_failure(host, qp, done, now);
    if (done.operation != wire::Operation::read_request || result.failed > 0) return;
    add((now - sent_at_).count() / 2);
    if (left_ > 0) ping(host, now);
  }
  void ping(transport::QpSet& client, Instant now) override {
    PingPong::ping(client, now);
    transport::WorkRequest back = request_;
    back.operation = wire::Operation::read_request;
    client.post(0, back, now);
  }
};

template <class Run>
LatencyResult run(const PerfConfig& config, const PerfHook& hook) {
  Simulation simulation;
  const PerfPair pair = connect(simulation, config);
  if (hook) hook(simulation);
  Run application(config, *pair.client);
  pair.client->run(application);
  pair.server->run(application);
  application.ping(*pair.client, simulation.now());
  while (application.result.ns.count() < config.iterations && application.result.failed == 0 &&
         simulation.advance()) {
  }
  application.close();
  return std::move(application.result);
}

}  // namespace

LatencyResult run_latency(const PerfConfig& config, const PerfHook& hook) {
  PerfConfig one = config;
  one.qps = 1;
  one.qp.report_writes = !config.read_back;
  if (config.read_back) return run<ReadBack>(one, hook);
  const bool ping_pong =
      config.operation == wire::Operation::send || config.operation == wire::Operation::write;
  return ping_pong ? run<PingPong>(one, hook) : run<Fetching>(one, hook);
}

}  // namespace lw::sim

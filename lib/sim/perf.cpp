// SPDX-License-Identifier: BSD-3-Clause
#include "sim/perf.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "perf/margins.h"
#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion;
using transport::Status;

perf::Failure failure_of(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                         Instant now) {
  return {done.status, host.qp(qp).config().host, qp, now};
}

namespace {

/// The rate in a window and in its halves.
struct Steady {
  double bps = 0, first_half_bps = 0, second_half_bps = 0;
  Duration window{};
};

/// Goodput at equal strides. When there are too many samples, every second sample is dropped, so
/// that memory does not grow with the run.
class Samples {
 public:
  void add(Instant at, std::uint64_t bytes) {
    if (offered_++ % every_ != 0) return;
    keep(at, bytes);
  }
  /// Adds a sample that is every() strides after the last one.
  void keep(Instant at, std::uint64_t bytes) {
    samples_.push_back({at, bytes});
    if (samples_.size() <= kMost) return;
    for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kMost / 2 + 1);
    every_ *= 2;
  }
  /// Strides between two samples.
  [[nodiscard]] std::int64_t every() const noexcept { return static_cast<std::int64_t>(every_); }
  [[nodiscard]] std::span<const perf::Delivered> all() const noexcept { return samples_; }
  void drop_after(Instant last) noexcept {
    while (!samples_.empty() && samples_.back().at > last) samples_.pop_back();
  }
  [[nodiscard]] Steady steady() const noexcept {
    if (samples_.size() < 3) return {};
    const std::size_t half = (samples_.size() - 1) / 2;
    const perf::Delivered &first = samples_[0], &middle = samples_[half],
                          &last = samples_[2 * half];
    return {.bps = perf::rate_between(first, last),
            .first_half_bps = perf::rate_between(first, middle),
            .second_half_bps = perf::rate_between(middle, last),
            .window = last.at - first.at};
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::vector<perf::Delivered> samples_;
  std::uint64_t offered_ = 0, every_ = 1;
};

/// Keeps each QP's send queue full until its messages are all posted.
class Stream : public transport::Application {
 public:
  Stream(const perf::PerfConfig& config, SteadySpan span, std::uint64_t a_qp)
      : margins(config.duration, config.margin),
        request_(request_of(config)),
        span_(span),
        next_sample_(span.begin),
        left_(config.qps, a_qp) {
    // While the last windows are on their way, some QPs have nothing left to send.
    if (config.iterations > 0) {
      const std::uint64_t all = config.iterations * config.qps;
      last_sample_ = all > span.stride ? all - span.stride : 0;
    }
  }

  void start(Simulation& simulation, Host& client) {
    for (std::uint32_t qp = 0; qp < left_.size(); ++qp) {
      while (left_[qp] > 0 && client.post(qp, request_, simulation.now())) --left_[qp];
    }
  }
  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.arrival) return;  // of a message of the other host, in a run both ways
    if (done.status != Status::success) {
      if (failed++ == 0) failure = failure_of(host, qp, done, now);
      return;
    }
    last = now;
    margins.note(now - Instant{}, (completed + 1) * request_.length);
    if (++completed == next_sample_ && span_.by_count()) [[unlikely]]
      note(now);
    if (left_[qp] > 0 && host.post(qp, request_, now)) --left_[qp];
  }
  /// The samples also count what the other host sends.
  void count(const Stream& other) noexcept { other_ = &other; }
  /// Posts no more messages.
  void end() noexcept { std::ranges::fill(left_, 0); }

  std::uint64_t completed = 0, failed = 0;
  std::optional<perf::Failure> failure;
  Instant last;
  Samples samples;
  perf::Margins margins;

 private:
  [[gnu::noinline]] void note(Instant now) {
    next_sample_ += span_.stride;
    const std::uint64_t others = other_ != nullptr ? other_->completed : 0;
    if (completed <= last_sample_) samples.add(now, (completed + others) * request_.length);
  }

  transport::WorkRequest request_;
  SteadySpan span_;
  std::uint64_t next_sample_, last_sample_ = ~std::uint64_t{0};
  std::vector<std::uint64_t> left_;
  const Stream* other_ = nullptr;
};

/// Messages that all QPs together may have outstanding.
std::uint64_t window_of(const perf::PerfConfig& config) noexcept {
  std::uint64_t window = std::min(config.qp.tx_depth, config.qp.max_outstanding_wqe);
  if (config.fetches()) window = std::min<std::uint64_t>(window, config.qp.max_rd_atomic);
  return window * config.qps;
}

/// Limits the strides of a run without a given length, so that it ends within seconds.
double limited(double strides, double packets_a_stride) noexcept {
  constexpr double kMostPackets = 3e7;
  return std::min(strides, std::max(4.0, kMostPackets / packets_a_stride));
}

}  // namespace

SteadySpan steady_span(const perf::PerfConfig& config) noexcept {
  constexpr double kSettled = 10'000;  // packets: the ends of the window are an error of 1e-4
  const double message_ns = link_ns_of_message(config);
  const double packets = transport::packets_of(config.size, config.qp.mtu);
  const auto round_trip_ns = static_cast<double>(round_trip_of(config).count());
  const auto window = static_cast<double>(window_of(config));
  const double settled_ns = kSettled / packets * message_ns;
  // Includes the time until each QP has completed its first message.
  const double trip_ns = round_trip_ns + message_ns * config.qps;
  const double trips = config.round_trips;
  if (!by_chance(config) && window * message_ns < std::max(3 * round_trip_ns, settled_ns)) {
    const double begin = 2 + 2 * std::floor(std::min(8.0, settled_ns / 2 / (window * message_ns)));
    const double stride_ns = std::max(round_trip_ns + message_ns, window * message_ns);
    const double strides =
        std::max(begin, limited(std::ceil(trips * trip_ns / stride_ns), packets * window));
    const std::uint64_t stride = window_of(config);
    const auto first = static_cast<std::uint64_t>(begin) * stride;
    return {.begin = first,
            .stride = stride,
            .end = first + static_cast<std::uint64_t>(strides) * stride};
  }
  // A window of PSNs passes once in a round trip, so a short run has whole windows in whole round
  // trips. A window takes up to 1 % longer, which would add up in a long run.
  const double psns_ns = config.qp.psn_window * message_ns / packets * config.qps;
  const double step_ns = trips < 10 && psns_ns < round_trip_ns ? round_trip_ns : trip_ns;
  const double least = 2 + 2 * std::ceil(settled_ns / step_ns / 2);
  const double steps = std::max(least, limited(trips, step_ns / message_ns * packets));
  const Duration step{static_cast<std::int64_t>(std::ceil(step_ns))};
  const Instant from = Instant{} + 3 * Duration{static_cast<std::int64_t>(std::ceil(trip_ns))};
  return {.from = from, .to = from + static_cast<std::int64_t>(steps) * step, .step = step};
}

namespace {

/// One bandwidth run.
class BandwidthRun {
 public:
  BandwidthRun(const perf::PerfConfig& config, const PerfHook& hook,
               const IntervalListener& intervals)
      : config_(config),
        intervals_(intervals),
        pair_(connect(simulation_, config)),
        receives_(config, *pair_.server),
        span_(steady_span(config)),
        stream_(config, span_, config.most_messages()),
        back_(config, span_, config.both ? config.most_messages() : 0) {
    if (hook) hook(simulation_);
    pair_.client->run(stream_);
    stream_.start(simulation_, *pair_.client);
    if (!config.both) return;
    stream_.count(back_);
    pair_.server->run(back_);
    back_.start(simulation_, *pair_.server);
  }
  perf::BandwidthResult result();

 private:
  [[nodiscard]] bool length_given() const noexcept {
    return config_.iterations > 0 || config_.duration > Duration{};
  }
  [[nodiscard]] std::uint64_t all_messages() const noexcept {
    return config_.iterations > 0 ? config_.all_messages() : config_.most_messages();
  }
  /// Messages that are done, both ways.
  [[nodiscard]] std::uint64_t done() const noexcept {
    return stream_.completed + stream_.failed + back_.completed + back_.failed;
  }
  /// Whether a run without a given length has cost enough: most of its packets are lost or sent
  /// again.
  [[nodiscard]] bool spent() const noexcept {
    return !length_given() && packets_sent() > config_.most_packets;
  }
  /// Packets that both hosts have sent.
  [[nodiscard]] std::uint64_t packets_sent() const noexcept {
    return pair_.client->counters().sent + pair_.server->counters().sent;
  }
  [[nodiscard]] std::uint64_t goodput_bytes() const noexcept;
  /// Payload that a QP has delivered in order, both ways; not that of atomics.
  [[nodiscard]] std::uint64_t goodput_bytes_of(std::uint32_t qp) const noexcept {
    std::uint64_t bytes = 0;
    for (Host* host : {pair_.client, pair_.server})
      bytes +=
          host->qp(qp).sink().payload_bytes() + host->qp(qp).requester().counters().fetched_bytes;
    return bytes;
  }
  [[nodiscard]] perf::IntervalTotals totals() const;
  /// Runs until `until`, until `messages` are done, or until it is stopped. Returns whether to go
  /// on. Ends the intervals meanwhile.
  bool run_until(Instant until, std::uint64_t messages);
  bool run_on(Instant until, std::uint64_t messages);
  /// Whether the steady rate is known at the end of the run's usual length.
  [[nodiscard]] bool is_known(Instant at);
  [[nodiscard]] std::optional<perf::RateInterval> interval() const noexcept;
  /// Requests of a QP that are not complete, both ways.
  [[nodiscard]] std::size_t posted(std::uint32_t qp) const {
    return pair_.client->qp(qp).requester().posted() + pair_.server->qp(qp).requester().posted();
  }
  /// What a QP has not done yet, and has done: payload delivered in order, both ways.
  struct QpProgress {
    std::size_t posted = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] QpProgress progress_of(std::uint32_t qp) const;
  /// Lets the QPs end what is posted: for 10 s and twice the time of the run, at most most_packets,
  /// but two turns of each QP. Returns false if it was cut short by packets or a signal.
  bool drain();
  /// Number of QPs that wait for ever. Ends the run.
  [[nodiscard]] std::uint32_t stuck_qps();
  void run_in_steps(Instant end);
  void run();
  void count_qps(perf::BandwidthResult& result) noexcept;
  /// The average of the run, or of the time between its margins.
  [[nodiscard]] double average_bps(const perf::BandwidthResult& result) const noexcept;
  /// Goodput of the slowest link.
  [[nodiscard]] double link_bps() const noexcept {
    return 8e9 * request_of(config_).length / link_ns_of_message(config_);
  }

  const perf::PerfConfig& config_;
  Intervals intervals_;
  Simulation simulation_;
  PerfPair pair_;
  ReceivePool receives_;
  SteadySpan span_;
  Stream stream_, back_;  // of the client, and of the server in a run both ways
  bool stopped_ = false;
  Instant next_look_ = {};   // at whether the steady rate is known
  bool was_narrow_ = false;  // the interval, at the last look
};

perf::IntervalTotals BandwidthRun::totals() const {
  const std::uint64_t messages = stream_.completed + back_.completed;
  perf::IntervalTotals totals{.messages = messages, .bytes = messages * request_of(config_).length};
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    totals.add(pair_.client->qp(i));
    if (config_.both) totals.add(pair_.server->qp(i));
  }
  return totals;
}

bool BandwidthRun::run_until(Instant until, std::uint64_t messages) {
  while (intervals_.due(until)) {
    if (!run_on(intervals_.next(), messages)) return false;
    intervals_.end(totals(), nullptr);
  }
  return run_on(until, messages);
}

bool BandwidthRun::run_on(Instant until, std::uint64_t messages) {
  while (done() < messages && !spent()) {
    if (config_.stopped()) [[unlikely]] {
      stopped_ = true;
      return false;
    }
    if (simulation_.advance(until)) continue;
    if (simulation_.run_to_rest(until)) return false;  // nothing is left to wait for
    simulation_.run_until(until);                      // the clock only
    return true;
  }
  return false;
}

/// Payload delivered in order, including that of incomplete messages.
std::uint64_t BandwidthRun::goodput_bytes() const noexcept {
  if (config_.is_atomic())
    return (stream_.completed + back_.completed) * request_of(config_).length;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < config_.qps; ++i) bytes += goodput_bytes_of(i);
  return bytes;
}

/// Samples the goodput after each step, up to `end`.
void BandwidthRun::run_in_steps(Instant end) {
  for (Instant at = span_.from;; at += stream_.samples.every() * span_.step) {
    if (!run_until(std::min(end, at), all_messages()) || simulation_.now() < at) break;
    stream_.samples.keep(at, goodput_bytes());
    if (!length_given() && at >= span_.to && is_known(at)) break;
  }
  // The last packets arrive before their ACKs do.
  const Instant last = config_.both ? std::min(stream_.last, back_.last) : stream_.last;
  if (config_.iterations > 0) stream_.samples.drop_after(last - span_.step);
}

std::optional<perf::RateInterval> BandwidthRun::interval() const noexcept {
  if (!by_chance(config_)) return std::nullopt;
  perf::TimerWaits waits;
  for (std::uint32_t i = 0; i < config_.qps; ++i)
    for (Host* host : {pair_.client, pair_.server})
      waits.count += host->qp(i).requester().counters().timeouts;
  if (config_.qp.timeout > 0)
    waits.each = transport::transport_timeout(config_.qp.timeout) / std::int64_t{config_.qps};
  return rate_interval(stream_.samples.all(), waits);
}

/// Looks at growing distances, and wants a narrow interval twice in a row, so that one by chance
/// rarely ends a run.
bool BandwidthRun::is_known(Instant at) {
  if (!by_chance(config_)) return true;
  if (at < next_look_) return false;
  next_look_ = at + (at - span_.from) / 4;
  const auto found = interval();
  const bool narrow = found && found->within(perf::kSteadyShare, stream_.samples.steady().bps);
  return std::exchange(was_narrow_, narrow) && narrow;
}

BandwidthRun::QpProgress BandwidthRun::progress_of(std::uint32_t qp) const {
  return {.posted = posted(qp), .bytes = goodput_bytes_of(qp)};
}

bool BandwidthRun::drain() {
  const Instant now = simulation_.now();
  const Instant until = now + std::chrono::seconds(10) + 2 * (now - Instant{});
  const std::uint64_t turns = std::uint64_t{2} * config_.qps * config_.nic.arbitration_burst;
  const std::uint64_t most = packets_sent() + std::max(config_.most_packets, turns);
  while (simulation_.advance(until))
    if (packets_sent() > most || config_.stopped()) return false;
  return true;
}

std::uint32_t BandwidthRun::stuck_qps() {
  if (config_.qp.timeout > 0 || stopped_) return 0;
  stream_.end();
  back_.end();
  std::vector<QpProgress> before;
  for (std::uint32_t i = 0; i < config_.qps; ++i) before.push_back(progress_of(i));
  const bool drained = drain();
  std::uint32_t stuck = 0;  // a long send queue is not drained by then, but shorter
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    const QpProgress now = progress_of(i);
    if (now.posted > 0 && now.posted == before[i].posted &&
        (drained || now.bytes == before[i].bytes))
      ++stuck;
  }
  return stuck;
}

void BandwidthRun::run() {
  const Instant end = config_.duration > Duration{} ? Instant{} + config_.duration : Instant::max();
  if (!span_.by_count()) return run_in_steps(end);
  run_until(end, length_given() ? all_messages() : span_.end * config_.ways());
}

void BandwidthRun::count_qps(perf::BandwidthResult& result) noexcept {
  for (std::uint32_t i = 0; i < config_.qps; ++i)
    for (Host* host : {pair_.client, pair_.server}) {
      const auto& requester = host->qp(i).requester();
      result.packets += requester.counters().packets;
      result.retransmitted += requester.counters().retransmitted;
      result.timeouts += requester.counters().timeouts;
      result.cnps += host->qp(i).cnps_sent();
      result.outstanding += requester.outstanding_psns();
    }
}

double BandwidthRun::average_bps(const perf::BandwidthResult& result) const noexcept {
  if (!stream_.margins.any() || stopped_) return result.bps_of(result.bytes);
  return perf::rate_bps(stream_.margins.bytes() + back_.margins.bytes(), stream_.margins.time());
}

perf::BandwidthResult BandwidthRun::result() {
  run();
  const bool by_time = config_.duration > Duration{} && done() < all_messages() && !stopped_;
  const Steady steady = stream_.samples.steady();
  const std::uint64_t length = request_of(config_).length;
  const Instant last = std::max(stream_.last, back_.last);
  intervals_.end_last(last, totals(), nullptr);
  perf::BandwidthResult result{.messages = stream_.completed + back_.completed,
                               .bytes = (stream_.completed + back_.completed) * length,
                               .back_bytes = back_.completed * length,
                               .elapsed = by_time ? config_.duration : last - Instant{},
                               .steady_bps = steady.bps,
                               .peak_bps = std::max(steady.first_half_bps, steady.second_half_bps),
                               .steady_window = steady.window,
                               .failed = stream_.failed + back_.failed,
                               .failure = stream_.failure ? stream_.failure : back_.failure,
                               .stopped = stopped_,
                               .there = simulation_.link(0).counters(),
                               .back = simulation_.link(1).counters()};
  if (steady.bps > 0)
    result.steady_change = (steady.second_half_bps - steady.first_half_bps) / steady.bps;
  result.average_bps = average_bps(result);
  count_qps(result);
  result.steady_interval = interval();
  result.stuck_qps = stuck_qps();
  keep_measurable(result, link_bps() * static_cast<double>(config_.ways()));
  return result;
}

}  // namespace

perf::BandwidthResult run_bandwidth(const perf::PerfConfig& config, const PerfHook& hook,
                                    const IntervalListener& intervals) {
  return BandwidthRun(config, hook, intervals).result();
}

namespace {

/// Each side answers a message with an equal message; the client measures round trips.
class PingPong : public transport::Application {
 public:
  PingPong(const perf::PerfConfig& config, const Host& client, const IntervalListener& intervals)
      : request_(request_of(config)),
        client_(client.number()),
        left_(config.most_messages()),
        intervals_(intervals) {}

  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.status != Status::success) note_failure(host, qp, done, now);
    if (!done.arrival) return;
    if (host.qp(qp).config().host != client_) {
      host.post(qp, request_, now);
      return;
    }
    measured((now - sent_at_) / 2, now);
    if (left_ > 0) ping(host, now);
  }
  /// Ends the intervals that are over at `now`.
  void end_intervals(Instant now) {
    while (intervals_.due(now)) {
      intervals_.end({.messages = result.ns.count()}, &window_);
      window_ = {};
    }
  }
  void end_last_interval(Instant now) {
    intervals_.end_last(now, {.messages = result.ns.count()}, &window_);
  }
  virtual void ping(transport::QpSet& client, Instant now) {
    --left_;
    sent_at_ = now;
    client.post(0, request_, now);
  }
  void note_failure(transport::QpSet& host, std::uint32_t qp, const Completion& done, Instant now) {
    if (result.failed++ == 0) result.failure = failure_of(host, qp, done, now);
  }

  perf::LatencyResult result;

 protected:
  void measured(Duration latency, Instant now) {
    end_intervals(now);
    result.add(latency);
    window_.add(latency);
  }

  transport::WorkRequest request_;
  std::uint16_t client_;
  std::uint64_t left_;
  Instant sent_at_;
  Intervals intervals_;
  perf::LatencyWindow window_;
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
    measured(now - done.posted, now);
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
    measured((now - sent_at_) / 2, now);
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
perf::LatencyResult run(const perf::PerfConfig& config, const PerfHook& hook,
                        const IntervalListener& intervals) {
  Simulation simulation;
  const PerfPair pair = connect(simulation, config);
  if (hook) hook(simulation);
  Run application(config, *pair.client, intervals);
  pair.client->run(application);
  pair.server->run(application);
  application.ping(*pair.client, simulation.now());
  perf::LatencyResult& result = application.result;
  const Instant end = config.duration > Duration{} ? Instant{} + config.duration : Instant::max();
  const auto complete = [&] {
    return result.ns.count() >= config.most_messages() || result.failed > 0;
  };
  const auto until = [&] { return result.ns.count() == 0 ? Instant::max() : end; };
  while (!complete() && !config.stopped() && simulation.advance(until())) {
  }
  const bool over = config.duration > Duration{} && !simulation.run_to_rest(end);
  result.stopped = !complete() && config.stopped();
  result.stuck = !complete() && !result.stopped && !over;
  application.end_intervals(over && !complete() ? end : simulation.now());
  application.end_last_interval(simulation.now());
  return std::move(application.result);
}

}  // namespace

perf::LatencyResult run_latency(const perf::PerfConfig& config, const PerfHook& hook,
                                const IntervalListener& intervals) {
  perf::PerfConfig one = config;
  one.qps = 1;
  using transport::kSpareRequests;
  one.qp.tx_depth = std::max(one.qp.tx_depth, kSpareRequests);
  one.qp.max_outstanding_wqe = std::max(one.qp.max_outstanding_wqe, kSpareRequests);
  one.qp.report_writes = !config.read_back;
  if (config.read_back) return run<ReadBack>(one, hook, intervals);
  return config.sends_data() ? run<PingPong>(one, hook, intervals)
                             : run<Fetching>(one, hook, intervals);
}

}  // namespace lw::sim

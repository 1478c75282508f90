// SPDX-License-Identifier: BSD-3-Clause
#include "sim/incast.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "core/chance.h"
#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion;
using transport::Status;

namespace {

/// Keeps every QP's send queue full and counts the bytes that each completes.
class Senders : public transport::Application {
 public:
  explicit Senders(const IncastConfig& config)
      : request_(request_of(config.perf)),
        qps_(config.perf.qps),
        bytes_(std::size_t{config.senders} * config.perf.qps) {}

  void start(Host& host, Instant now) {
    for (std::uint32_t qp = 0; qp < qps_; ++qp) {
      while (host.post(qp, request_, now)) {
      }
    }
  }
  void on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                     Instant now) override {
    if (done.status != Status::success) {
      if (failed++ == 0) failure = failure_of(host, qp, done, now);
      return;
    }
    bytes_[flow_of(host, qp)] += done.length;
    host.post(qp, request_, now);
  }
  [[nodiscard]] const std::vector<std::uint64_t>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t of_sender(std::uint32_t sender) const noexcept {
    const auto first = bytes_.begin() + std::ptrdiff_t{sender} * qps_;
    return std::accumulate(first, first + qps_, std::uint64_t{0});
  }

  std::uint64_t failed = 0;
  std::optional<perf::Failure> failure;

 private:
  // Host 0 is the receiver.
  [[nodiscard]] std::size_t flow_of(transport::QpSet& host, std::uint32_t qp) const noexcept {
    return std::size_t{host.qp(qp).config().host - 1U} * qps_ + qp;
  }

  transport::WorkRequest request_;
  std::uint32_t qps_;
  std::vector<std::uint64_t> bytes_;
};

enum Draw : std::uint64_t { kStart, kClock };  // of a sender

class IncastRun {
 public:
  IncastRun(const IncastConfig& config, const PerfHook& hook);
  IncastResult result();

 private:
  void join(std::uint32_t sender);
  void run_until(Instant until);
  void sample(Instant at);
  [[nodiscard]] double allowed_bps(std::uint32_t sender) noexcept;
  [[nodiscard]] Host& sender(std::uint32_t number) noexcept { return simulation_.host(number + 1); }

  const IncastConfig& config_;
  Chance chance_;
  Simulation simulation_;
  SimLink* shared_ = nullptr;
  Host* receiver_ = nullptr;
  std::optional<ReceivePool> receives_;
  Senders senders_;
  std::vector<std::pair<Instant, std::uint32_t>> starts_;  // start times of senders, the last first
  std::vector<std::uint64_t> before_;  // bytes of each sender at the last sample
  IncastResult result_;
};

IncastRun::IncastRun(const IncastConfig& config, const PerfHook& hook)
    : config_(config),
      chance_(config.perf.path.seed, hash_name("incast")),
      senders_(config),
      before_(config.senders) {
  const PerfLinks links = add_links(simulation_, config.perf);
  shared_ = links.there;
  receiver_ = &simulation_.add_host(config.perf.nic, memory_of(config.perf), *links.back);
  for (std::uint32_t i = 0; i < config.senders; ++i) join(i);
  receives_.emplace(config_.perf, *receiver_);
  if (hook) hook(simulation_);
  const auto within = static_cast<double>(config.start_within.count());
  for (std::uint32_t i = 0; i < config.senders; ++i) {
    const Duration start{static_cast<std::int64_t>(within * chance_.uniform(i, kStart))};
    starts_.emplace_back(Instant{} + start, i);
  }
  std::ranges::sort(starts_, std::greater{});
}

void IncastRun::join(std::uint32_t number) {
  perf::NicConfig nic = config_.perf.nic;
  nic.rate_bps *= 1 + config_.clock_ppm * 1e-6 * (2 * chance_.uniform(number, kClock) - 1);
  Host& host = simulation_.add_host(nic, memory_of(config_.perf), *shared_);
  host.run(senders_);
  for (std::uint32_t i = 0; i < config_.perf.qps; ++i) {
    transport::QpConfig qp = config_.perf.qp;
    qp.endless_receives = config_.perf.receives == 0;
    qp.dest_host = receiver_->number();
    qp.dest_qpn = Host::qpn_of(number * config_.perf.qps + i);
    host.add_qp(qp);
    qp.dest_host = host.number();
    qp.dest_qpn = Host::qpn_of(i);
    receiver_->add_qp(qp);
  }
}

void IncastRun::run_until(Instant until) {
  for (; !starts_.empty() && starts_.back().first <= until; starts_.pop_back()) {
    simulation_.run_until(starts_.back().first);
    senders_.start(sender(starts_.back().second), simulation_.now());
  }
  simulation_.run_until(until);
}

double IncastRun::allowed_bps(std::uint32_t number) noexcept {
  double sum = 0;
  for (std::uint32_t i = 0; i < config_.perf.qps; ++i)
    sum += sender(number).qp(i).pacing().rate_bps();
  return sum;
}

void IncastRun::sample(Instant at) {
  for (std::uint32_t i = 0; i < config_.senders; ++i) {
    const std::uint64_t bytes = senders_.of_sender(i);
    result_.samples.push_back(
        {at, i, perf::rate_bps(bytes - before_[i], config_.sample), allowed_bps(i)});
    before_[i] = bytes;
  }
}

IncastResult IncastRun::result() {
  const Instant end = Instant{} + config_.perf.duration,
                middle = Instant{} + config_.perf.duration / 2;
  std::vector<std::uint64_t> at_middle;
  for (Instant at = Instant{} + config_.sample; at <= end; at += config_.sample) {
    run_until(at);
    sample(at);
    if (at_middle.empty() && at >= middle) at_middle = senders_.bytes();
  }
  const Duration half = simulation_.now() - middle;
  for (std::size_t i = 0; i < at_middle.size(); ++i)
    result_.flow_bps.push_back(perf::rate_bps(senders_.bytes()[i] - at_middle[i], half));
  for (std::uint32_t s = 0; s < config_.senders; ++s) {
    for (std::uint32_t i = 0; i < config_.perf.qps; ++i) {
      const auto& counters = sender(s).qp(i).requester().counters();
      result_.packets += counters.packets;
      result_.retransmitted += counters.retransmitted;
      result_.timeouts += counters.timeouts;
    }
  }
  for (std::uint32_t i = 0; i < receiver_->qps(); ++i) result_.cnps += receiver_->qp(i).cnps_sent();
  result_.failed = senders_.failed;
  result_.failure = senders_.failure;
  result_.link = shared_->counters();
  return std::move(result_);
}

}  // namespace

double IncastResult::total_bps() const noexcept {
  return std::accumulate(flow_bps.begin(), flow_bps.end(), 0.0);
}

double IncastResult::fairness() const noexcept {
  double squares = 0;
  for (const double rate : flow_bps) squares += rate * rate;
  if (squares <= 0) return 0;
  return total_bps() * total_bps() / (static_cast<double>(flow_bps.size()) * squares);
}

IncastResult run_incast(const IncastConfig& config, const PerfHook& hook) {
  return IncastRun(config, hook).result();
}

}  // namespace lw::sim

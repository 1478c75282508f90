// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion;
using transport::Status;

namespace {

/// Each side answers what it gets by the same; the client counts round trips.
class PingPong : public Application {
 public:
  PingPong(const PerfConfig& config, const Host& client)
      : request_(request_of(config)), client_(client.number()), left_(config.iterations) {}

  void on_completion(Host& host, std::uint32_t qp, const Completion& done, Instant now) override {
    if (done.status != Status::success) ++result.failed;
    if (!done.arrival) return;
    if (host.number() != client_) {
      host.post(qp, request_, now);
      return;
    }
    add((now - sent_at_).count() / 2);
    if (left_ > 0) ping(host, now);
  }
  virtual void ping(Host& client, Instant now) {
    --left_;
    sent_at_ = now;
    client.post(0, request_, now);
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

/// The client asks again when it has its answer.
class Fetching : public PingPong {
 public:
  using PingPong::PingPong;
  void on_completion(Host& host, std::uint32_t, const Completion& done, Instant now) override {
    if (done.status != Status::success) {
      ++result.failed;
      return;
    }
    add((now - done.posted).count());
    if (left_ > 0) ping(host, now);
  }
};

/// WRITEs, whose own completion nobody waits for, to a peer that does nothing; the READ behind each
/// brings it back.
class ReadBack : public PingPong {
 public:
  using PingPong::PingPong;
  void on_completion(Host& host, std::uint32_t, const Completion& done, Instant now) override {
    if (done.status != Status::success) ++result.failed;
    if (done.operation != wire::Operation::read_request || result.failed > 0) return;
    add((now - sent_at_).count() / 2);
    if (left_ > 0) ping(host, now);
  }
  void ping(Host& client, Instant now) override {
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

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/perf_client.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/endpoint/contents.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

using transport::Completion;
using transport::Status;
using wire::Operation;

/// One connection of a client: its messages made, posted and looked at, one after another.
class Lane {
 public:
  explicit Lane(const Dialled& dialled)
      : connection_(*dialled.connection),
        terms_(dialled.terms),
        offer_(dialled.offer),
        places_(connection_.qpn(), terms_),
        ours_(Author::client, terms_.size),
        theirs_(Author::responder, terms_.size) {
    for (std::uint32_t slot = 0; slot < terms_.slots; ++slot) {
      ours_.write(memory(places_.outbox(slot)), slot);
    }
  }

  /// False when the send queue is full.
  bool post(Instant now) {
    const std::uint64_t n = posted_;
    const std::uint64_t offset = places_.inbox(n) - places_.inbox();
    const bool atomic = terms_.operation == Operation::fetch_add;
    const bool read = terms_.operation == Operation::read_request;
    if (carries()) ours_.number(memory(places_.outbox(n)), n);
    // An old answer mustn't pass for a new one; unless another is on its way to the same place.
    if (read && terms_.slots >= terms_.depth) theirs_.number(memory(places_.inbox(n)), ~n);
    const bool taken =
        connection_.pair().post({.id = n,
                                 .operation = terms_.operation,
                                 .immediate = terms_.immediate,
                                 .length = terms_.size,
                                 .word = static_cast<std::uint32_t>(n),
                                 .local_va = carries() ? places_.outbox(n) : places_.inbox(n),
                                 .remote_va = atomic ? offer_.va : offer_.va + offset,
                                 .r_key = offer_.r_key,
                                 .swap_add = 1},
                                now);
    if (taken) ++posted_;
    return taken;
  }
  void post_receive() {
    connection_.pair().post(
        transport::Receive{.id = 0, .va = places_.inbox(), .length = terms_.size});
  }

  /// Whether what a READ or an atomic brought is what must be there.
  [[nodiscard]] bool right(const Completion& done) {
    if (terms_.operation == Operation::fetch_add) return done.original == done.id;
    if (terms_.operation != Operation::read_request) return true;
    return theirs_.holds(memory(places_.inbox(done.id)), done.id % terms_.slots);
  }
  /// Whether the echo of message n is right.
  [[nodiscard]] bool right_echo(const Completion& arrival, std::uint64_t n) {
    return arrival.length == terms_.size && theirs_.holds(memory(places_.inbox(n)), n);
  }

  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] bool carries() const noexcept {
    return terms_.operation == Operation::send || terms_.operation == Operation::write;
  }
  [[nodiscard]] bool takes_receive() const noexcept {
    return terms_.operation == Operation::send || terms_.immediate;
  }

 private:
  std::span<std::byte> memory(std::uint64_t va) {
    return connection_.memory().bytes(va, terms_.size);
  }

  Connection& connection_;
  Terms terms_;
  Offer offer_;
  Places places_;
  Contents ours_, theirs_;
  std::uint64_t posted_ = 0;
};

/// What both kinds of run have alike.
class Traffic : public Application {
 public:
  Traffic(const sim::PerfConfig& config, const std::vector<Dialled>& dialled)
      : each_(config.iterations) {
    for (const Dialled& d : dialled) {
      lanes_.push_back(std::make_unique<Lane>(d));
      d.connection->run(*this);
      by_qpn_[d.connection->qpn()] = lanes_.back().get();
    }
  }
  /// All messages are through, but for those that a broken QP never posted.
  [[nodiscard]] bool done() const noexcept {
    if (result.bandwidth.failed == 0) return completed_ >= each_ * lanes_.size();
    std::uint64_t all = 0;
    for (const auto& lane : lanes_) {
      all += lane->connection().pair().broken() ? lane->posted() : each_;
    }
    return completed_ + result.bandwidth.failed >= all;
  }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }

  ClientResult result;

 protected:
  Lane& lane_of(const Connection& connection) { return *by_qpn_.at(connection.qpn()); }
  std::uint64_t each_;
  std::uint64_t completed_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;

 private:
  std::map<std::uint32_t, Lane*> by_qpn_;
};

/// Keeps each QP's send queue full until its messages are all posted.
class BandwidthTraffic : public Traffic {
 public:
  using Traffic::Traffic;

  void start() {
    start_ = nic::now();
    for (const auto& lane : lanes_) {
      while (lane->posted() < each_ && lane->post(start_)) {
      }
    }
  }
  void on_completion(Connection& connection, const Completion& done) override {
    if (done.arrival) return;
    if (done.status != Status::success) {
      ++result.bandwidth.failed;
      return;
    }
    Lane& lane = lane_of(connection);
    if (!lane.right(done)) ++result.wrong;
    ++completed_;
    result.bandwidth.bytes += done.length;
    const Instant now = nic::now();
    result.bandwidth.elapsed = now - start_;
    note_peak(now);
    if (lane.posted() < each_) lane.post(now);
  }
  void finish() {
    result.bandwidth.messages = completed_;
    const auto ns = static_cast<double>(result.bandwidth.elapsed.count());
    if (ns > 0)
      result.bandwidth.average_bps = static_cast<double>(result.bandwidth.bytes) * 8e9 / ns;
    for (const auto& lane : lanes_) {
      const auto& counters = lane->connection().pair().requester().counters();
      result.bandwidth.packets += counters.packets;
      result.bandwidth.retransmitted += counters.retransmitted;
      result.bandwidth.timeouts += counters.timeouts;
    }
  }

 private:
  /// The first half fills the path and the queues; the second is the steady rate.
  void note_peak(Instant now) noexcept {
    const std::uint64_t all = each_ * lanes_.size();
    if (completed_ == (all + 1) / 2) {
      half_at_ = now;
      half_bytes_ = result.bandwidth.bytes;
    }
    if (completed_ != all || now <= half_at_) return;
    const auto ns = static_cast<double>((now - half_at_).count());
    result.bandwidth.steady_bps =
        static_cast<double>(result.bandwidth.bytes - half_bytes_) * 8e9 / ns;
  }
  Instant start_, half_at_;
  std::uint64_t half_bytes_ = 0;
};

/// One message at a time; its latency by the clock when it is posted and when its end is seen.
class LatencyTraffic : public Traffic {
 public:
  using Traffic::Traffic;

  void start() {
    if (lane().carries() && lane().takes_receive()) lane().post_receive();
    ping();
  }
  void on_completion(Connection& /*connection*/, const Completion& done) override {
    if (done.status != Status::success) {
      ++result.latency.failed;
      ++result.bandwidth.failed;
      return;
    }
    if (done.arrival != lane().carries()) return;  // a ping-pong's own completion is no answer
    const std::int64_t round_trip = (nic::now() - posted_at_).count();
    const bool right =
        done.arrival ? lane().right_echo(done, lane().posted() - 1) : lane().right(done);
    if (!right) ++result.wrong;
    add(done.arrival ? round_trip / 2 : round_trip);
    ++completed_;
    if (done.arrival && lane().takes_receive()) lane().post_receive();
    if (completed_ < each_) ping();
  }
  void finish() {
    const auto n = static_cast<double>(result.latency.ns.count());
    if (n > 0) {
      const double mean = sum_ / n;
      result.latency.deviation_ns = std::sqrt(std::max(0.0, squares_ / n - mean * mean));
    }
  }

 private:
  Lane& lane() noexcept { return *lanes_.front(); }
  void ping() {
    posted_at_ = nic::now();
    lane().post(posted_at_);
  }
  void add(std::int64_t ns) {
    result.latency.ns.add(ns);
    sum_ += static_cast<double>(ns);
    squares_ += static_cast<double>(ns) * static_cast<double>(ns);
  }
  Instant posted_at_;
  double sum_ = 0, squares_ = 0;
};

}  // namespace

Terms terms_of(const sim::PerfConfig& config, bool echo) noexcept {
  constexpr std::uint64_t kInbox = 16u << 20;
  Terms terms{.operation = config.operation,
              .immediate = config.immediate,
              .echo = echo,
              .size = config.operation == Operation::fetch_add ? 8 : config.size};
  terms.depth = std::min(config.qp.tx_depth, config.qp.max_outstanding_wqe);
  if (config.operation == Operation::fetch_add) return terms;
  const std::uint64_t fit = std::max<std::uint64_t>(1, kInbox / terms.size);
  terms.slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(terms.depth, fit));
  return terms;
}

template <class Kind>
Result<void> PerfClient::move(Kind& traffic) {
  constexpr Duration kPatience = std::chrono::seconds(60);
  std::uint64_t completed = 0;
  Instant progressed = nic::now();
  while (!traffic.done() && !stop_.load(std::memory_order_relaxed)) {
    const auto turned = endpoint_.turn();
    if (!turned) return std::unexpected(turned.error());
    if (*turned) continue;
    const Instant now = nic::now();
    if (traffic.completed() != completed) {
      completed = traffic.completed();
      progressed = now;
    } else if (now - progressed > kPatience) {
      return fail(fmt::format("no message was done for {}: is the responder still there?",
                              format_duration(kPatience)),
                  ExitCode::failed);
    }
  }
  return {};
}

template <class Kind>
Result<ClientResult> PerfClient::run(const sim::PerfConfig& config, const Terms& terms) {
  auto dialled = side_.dial(terms, config.qp, config.qps);
  if (!dialled) return std::unexpected(dialled.error());
  Kind traffic(config, *dialled);
  traffic.start();
  if (auto moved = move(traffic); !moved) return std::unexpected(moved.error());
  traffic.finish();
  if (auto hung_up = side_.hang_up(*dialled); !hung_up) return std::unexpected(hung_up.error());
  ClientResult result = std::move(traffic.result);
  result.peer_answered = std::ranges::all_of(*dialled, &Dialled::answered);
  for (const Dialled& d : *dialled) {
    result.peer.checked += d.findings.checked;
    result.peer.wrong += d.findings.wrong;
    result.peer.duplicates += d.findings.duplicates;
    result.peer.out_of_sequence += d.findings.out_of_sequence;
  }
  return result;
}

Result<ClientResult> PerfClient::bandwidth(const sim::PerfConfig& config) {
  return run<BandwidthTraffic>(config, terms_of(config, false));
}

Result<ClientResult> PerfClient::latency(const sim::PerfConfig& config) {
  sim::PerfConfig one = config;
  one.qps = 1;
  const bool echo = config.operation == Operation::send || config.operation == Operation::write;
  Terms terms = terms_of(one, echo);
  terms.depth = terms.slots = 1;
  return run<LatencyTraffic>(one, terms);
}

}  // namespace lw::gen

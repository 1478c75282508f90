// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gen/perf/cm/connection_manager.h"
#include "gen/perf/report/perf_series.h"
#include "nic/clock.h"
#include "sim/perf.h"

namespace lw::gen {

/// One connection of a client: its messages made, posted and looked at, one after another.
class ClientConnection {
 public:
  /// The connection of `connected` outlives it.
  explicit ClientConnection(const Connected& connected);

  /// The next message; false when the send queue is full.
  bool post(Instant now);
  /// Asks for the message posted last, from where it was written. The send queue has room.
  void post_read_back(Instant now);
  /// A place for the echo of a message.
  void post_receive();

  /// Whether what a READ or an atomic brought is what must be there.
  [[nodiscard]] bool right(const transport::Completion& done);
  /// Whether the message that was written came back.
  [[nodiscard]] bool right_read_back(const transport::Completion& done);
  /// Whether the echo of message n is right.
  [[nodiscard]] bool right_echo(const transport::Completion& arrival, std::uint64_t n);

  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  /// Whether its requests carry the bytes, rather than ask for them.
  [[nodiscard]] bool carries() const noexcept {
    return params_.operation == wire::Operation::send ||
           params_.operation == wire::Operation::write;
  }
  [[nodiscard]] bool takes_receive() const noexcept {
    return params_.operation == wire::Operation::send || params_.immediate;
  }

 private:
  std::span<std::byte> memory(std::uint64_t va) {
    return connection_.memory().bytes(va, params_.size);
  }

  Connection& connection_;
  SessionParams params_;
  RemoteMemory remote_;
  MemoryLayout layout_;
  PayloadPattern sent_pattern_, received_pattern_;
  std::uint64_t posted_ = 0;
};

/// What the client of a run saw, and what its responder found.
struct ClientResult {
  sim::BandwidthResult bandwidth;
  sim::LatencyResult latency;
  std::uint64_t wrong = 0;  // messages or answers that arrived here and weren't what they must be
  ServerStats peer;
  bool peer_answered = false;
  wire::Transport transport = wire::Transport::rc;  // of any other not all need have arrived
};

/// What both kinds of run have alike: a client a connection, and when all is through.
class ClientTraffic : public transport::Application {
 public:
  ClientTraffic(const sim::PerfConfig& config, const std::vector<Connected>& connected)
      : each_(config.iterations) {
    for (const Connected& d : connected) {
      connections_.push_back(std::make_unique<ClientConnection>(d));
      d.connection->run(*this);
      by_qpn_[d.connection->qpn()] = connections_.back().get();
    }
  }
  /// All messages are through, but for those that a broken QP never posted.
  [[nodiscard]] bool done() const noexcept {
    if (result.bandwidth.failed == 0 && !until_) return completed_ >= each_ * connections_.size();
    std::uint64_t all = 0;
    bool more = until_ && nic::now() < *until_;
    for (const auto& client : connections_) {
      const bool broken = client->connection().pair().broken();
      all += broken || until_ ? client->posted() : each_;
      more = more && !broken;
    }
    return !more && completed_ + result.bandwidth.failed >= all;
  }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// Notes what each QP is at, when a row of the series is due; its time 0 is when this was made.
  void sample(PerfSeries& series) const {
    if (!series.kept()) return;
    const Instant at = Instant{} + (nic::now() - made_);
    if (!series.due(at)) return;
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
      series.add(at, i, connections_[i]->connection().pair());
    }
  }

  ClientResult result;

 protected:
  std::uint64_t each_;
  std::optional<Instant> until_;  // in place of each_: no message is posted from then on
  std::uint64_t completed_ = 0;
  Instant made_ = nic::now();
  std::vector<std::unique_ptr<ClientConnection>> connections_;
  std::map<std::uint32_t, ClientConnection*> by_qpn_;
};

/// Keeps each QP's send queue full until its messages are all posted, or its time is over.
class BandwidthTraffic : public ClientTraffic {
 public:
  BandwidthTraffic(const sim::PerfConfig& config, const std::vector<Connected>& connected)
      : ClientTraffic(config, connected), duration_(config.duration) {}

  /// Posts the first messages; what follows comes by completions.
  void start();
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;
  /// Works the result out, when done().
  void finish();

 private:
  [[nodiscard]] bool may_post(const ClientConnection& client, Instant now) const noexcept {
    return until_ ? now < *until_ : client.posted() < each_;
  }
  /// The first half fills the path and the queues; the second is the steady rate.
  void note_half(Instant now) noexcept;

  Duration duration_;  // 0: not by time
  Instant start_, half_at_;
  std::uint64_t half_bytes_ = 0;
};

/// One message at a time; its latency by the clock when it is posted and when its end is seen.
class LatencyTraffic : public ClientTraffic {
 public:
  using ClientTraffic::ClientTraffic;

  /// Posts the first messages; what follows comes by completions.
  void start();
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;
  /// Works the result out, when done().
  void finish();

 protected:
  ClientConnection& client() noexcept { return *connections_.front(); }
  virtual void ping();
  [[nodiscard]] Duration since_post() const noexcept { return nic::now() - posted_at_; }
  void note_failure() noexcept;
  /// A message is through, as it must be or not; the next one goes.
  void count(bool right, Duration latency);

 private:
  Instant posted_at_;
  double sum_ = 0, squares_ = 0;
};

/// The ping of a passive peer: a WRITE whose own completion nobody waits for, and behind it a READ
/// that brings it back. Half of both together counts. Send queues hold two requests at least.
class ReadBackTraffic : public LatencyTraffic {
 public:
  using LatencyTraffic::LatencyTraffic;
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

 private:
  void ping() override;
};

}  // namespace lw::gen

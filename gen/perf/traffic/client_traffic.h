// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "gen/perf/cm/connected.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/report/interval_report.h"
#include "gen/perf/report/perf_files.h"
#include "nic/clock.h"
#include "perf/rate_meter.h"

namespace lw::gen {

/// One connection of a client: builds, posts and checks its messages.
class ClientConnection {
 public:
  /// `connected.connection` must outlive it.
  explicit ClientConnection(const Connected& connected);

  /// Posts the next message. Returns false if the send queue is full.
  bool post(Instant now);
  /// Posts a READ of the last message. Requires room in the send queue.
  void post_read_back(Instant now);
  /// Posts a receive for an echo.
  void post_receive();
  /// Both ways: posts a receive for each message that may be outstanding.
  void post_receives();
  /// Both ways: takes a message of the responder, or a request for one. Returns true if it is
  /// correct.
  [[nodiscard]] bool take_arrival(const transport::Completion& arrival);
  /// Both ways, at the end: returns true if each atomic of the responder was done once.
  [[nodiscard]] bool counted_right() const noexcept;

  /// Returns true if a READ or an atomic returned the expected data.
  [[nodiscard]] bool right(const transport::Completion& done);
  /// Returns true if the message that was read back is the one that was written.
  [[nodiscard]] bool right_read_back(const transport::Completion& done);
  /// Returns true if the echo of message n is correct.
  [[nodiscard]] bool right_echo(const transport::Completion& arrival, std::uint64_t n);

  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  /// Returns true if messages flow from the client to the responder (SEND, WRITE).
  [[nodiscard]] bool carries() const noexcept { return !params_.fetches(); }
  [[nodiscard]] bool takes_receive() const noexcept { return params_.takes_receive(); }

 private:
  [[nodiscard]] bool fetches_word() const noexcept { return wire::is_atomic(params_.operation); }
  /// Offset of message n in the responder's memory.
  [[nodiscard]] std::uint64_t remote_offset(std::uint64_t n) const noexcept {
    // If messages may be lost, a responder does not know the slot of a message: all use the first.
    return params_.lossy() && !device_ ? 0 : layout_.inbox(n) - layout_.inbox();
  }
  /// Writes message n into its slot.
  void fill(std::uint64_t n);
  /// Length of message n. The last one of configured data may be shorter.
  [[nodiscard]] std::uint32_t length_of(std::uint64_t n) const noexcept {
    if (data_.empty()) return params_.size;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(params_.size, data_.size() - n * params_.size));
  }
  std::span<std::byte> memory(std::uint64_t va) {
    return connection_.memory().bytes(va, params_.size);
  }

  Connection& connection_;
  SessionParams params_;
  RemoteMemory remote_;
  bool device_;
  std::span<const std::byte> data_;
  MemoryLayout layout_;
  PayloadPattern sent_pattern_, received_pattern_;
  std::uint64_t posted_ = 0;
  std::uint64_t atomics_ = 0;  // of the responder
};

/// Result of a run: the client's counters and the responder's stats.
struct ClientResult {
  perf::BandwidthResult bandwidth;
  perf::LatencyResult latency;
  std::uint64_t wrong = 0;  // messages or responses with wrong data
  ServerStats peer;
  std::optional<IntervalExtremes> intervals = {};
  bool peer_answered = false;
  // true: peer.checked is the number of arrived messages; false: that number is unknown
  bool peer_counted = true;
  wire::Transport transport = wire::Transport::rc;  // rc: all messages arrived
};

/// Common part of bandwidth and latency runs: a ClientConnection per connection, and the end of the
/// run.
class ClientTraffic : public transport::Application {
 public:
  ClientTraffic(const perf::PerfConfig& config, const std::vector<Connected>& connected)
      : each_(config.iterations), ways_(config.ways()) {
    for (const Connected& d : connected) {
      connections_.push_back(std::make_unique<ClientConnection>(d));
      d.connection->run(*this);
      const std::uint32_t index = d.connection->index();
      if (index >= by_index_.size()) by_index_.resize(index + 1);
      by_index_[index] = connections_.back().get();
    }
  }
  /// Returns true if all messages are complete, except those that a broken QP never posted.
  [[nodiscard]] bool done() const noexcept {
    if (result.bandwidth.failed == 0 && !until_)
      return completed() >= ways_ * each_ * connections_.size();
    std::uint64_t all = 0;
    bool more = until_ && nic::now() < *until_;
    for (const auto& client : connections_) {
      const bool broken = client->connection().pair().broken();
      all += broken || until_ ? client->posted() : each_;
      more = more && !broken;
    }
    // A broken QP of a run both ways may lack any number of the responder's messages.
    const bool failed = result.bandwidth.failed > 0;
    return !more && completed_ + result.bandwidth.failed >= all &&
           (failed || ways_ == 1 || arrived_ >= all);
  }
  /// Messages that are done, both ways.
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_ + arrived_; }
  /// Stores in each connection how many messages it posted.
  void tell_posted(std::vector<Connected>& connected) const noexcept {
    for (std::size_t i = 0; i < connected.size(); ++i)
      connected[i].messages = connections_[i]->posted();
  }
  /// Adds rows to the series when they are due. Time 0 is the construction of this object.
  void sample(PerfSeries& series) const {
    if (!series.kept()) return;
    const Instant at = Instant{} + (nic::now() - made_);
    if (!series.due(at)) return;
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
      series.add(at, i, connections_[i]->connection().pair());
    }
  }

  /// Prints the line of an interval when it is due.
  void report(IntervalReport& intervals, Instant now) {
    if (!intervals.due(now)) return;
    intervals.add(now, totals(), latencies());
    window_ = {};
  }
  /// Prints the line of the last interval.
  void report_last(IntervalReport& intervals, Instant now) {
    intervals.finish(now, totals(), latencies());
  }

  /// Computes the result: the counters of the transport. Requires done().
  void finish();

  ClientResult result;

 protected:
  /// Counts a completion in error; keeps the first one's status, QP and time.
  void note_failure(transport::QpSet& qps, std::uint32_t qp,
                    const transport::Completion& done) noexcept;
  [[nodiscard]] IntervalTotals totals() const noexcept;
  /// Latencies since the last line; null if none are measured.
  [[nodiscard]] const LatencyWindow* latencies() const noexcept {
    return measures_latency_ ? &window_ : nullptr;
  }

  bool measures_latency_ = false;
  LatencyWindow window_;
  std::uint64_t each_;
  std::optional<Instant> until_;  // if set, replaces each_: nothing is posted after this time
  std::uint64_t ways_;
  std::uint64_t completed_ = 0, arrived_ = 0;  // own messages; those of the responder
  Instant made_ = nic::now();
  std::vector<std::unique_ptr<ClientConnection>> connections_;
  std::vector<ClientConnection*> by_index_;  // of the QP among those of the endpoint
};

/// Keeps each QP's send queue full until all messages are posted or the time is over.
class BandwidthTraffic : public ClientTraffic {
 public:
  BandwidthTraffic(const perf::PerfConfig& config, const std::vector<Connected>& connected)
      : ClientTraffic(config, connected),
        duration_(config.duration),
        meter_(config, config.iterations * connected.size() * config.ways()) {}

  /// Posts the first messages; completions post the next ones.
  void start();
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;
  /// Computes the result. Requires done().
  void finish();

 private:
  [[nodiscard]] bool may_post(const ClientConnection& client, Instant now) const noexcept {
    return until_ ? now < *until_ : client.posted() < each_;
  }
  /// Messages that may be outstanding at once, both ways.
  [[nodiscard]] std::uint64_t window() const noexcept;
  void count(const transport::Completion& done, Instant now) noexcept;

  Duration duration_;  // 0: no limit
  perf::RateMeter meter_;
  Instant start_;
};

/// One message at a time. Measures from its post to its completion.
class LatencyTraffic : public ClientTraffic {
 public:
  LatencyTraffic(const perf::PerfConfig& config, const std::vector<Connected>& connected)
      : ClientTraffic(config, connected) {
    measures_latency_ = true;
    if (config.duration > Duration{}) until_ = made_ + config.duration;
  }

  /// Posts the first messages; completions post the next ones.
  void start();
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

 protected:
  ClientConnection& client() noexcept { return *connections_.front(); }
  virtual void ping();
  /// Starts the time of a message.
  Instant begin() noexcept { return posted_at_ = nic::now(); }
  [[nodiscard]] Duration since_post() const noexcept { return nic::now() - posted_at_; }
  void note_failure(transport::QpSet& qps, std::uint32_t qp,
                    const transport::Completion& done) noexcept;
  /// Counts a message with correct or wrong data, and posts the next one.
  void count(bool right, Duration latency);

 private:
  void post();

  Instant posted_at_;
  bool waits_ = false;  // the next message waits for room in the send queue
};

/// Ping to a passive peer: a WRITE, and a READ that fetches the message back. The result is half of
/// the time for both. Requires a send queue of two requests.
class ReadBackTraffic : public LatencyTraffic {
 public:
  using LatencyTraffic::LatencyTraffic;
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

 private:
  void ping() override;
};

/// The client of rping: announces a source, which the server READs, and then a sink, into which the
/// server WRITEs the same bytes. Measures a whole ping: READ, WRITE and four SENDs.
class PingTraffic final : public LatencyTraffic {
 public:
  PingTraffic(const perf::PerfConfig& config, const std::vector<Connected>& connected)
      : LatencyTraffic(config, connected),
        connection_(*connected.front().connection),
        layout_(connection_.qpn(), connected.front().params),
        size_(config.size) {}

  void start() { ping(); }
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

 private:
  void ping() override;
  void announce(std::uint64_t va, Instant now);

  Connection& connection_;
  MemoryLayout layout_;
  std::uint32_t size_;
  bool read_ = false;  // the server has read the source
};

}  // namespace lw::gen

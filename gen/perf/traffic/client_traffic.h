// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gen/perf/report/perf_series.h"
#include "gen/perf/traffic/client_lane.h"
#include "nic/clock.h"
#include "sim/perf.h"

namespace lw::gen {

/// What the client of a run saw, and what its responder found.
struct ClientResult {
  sim::BandwidthResult bandwidth;
  sim::LatencyResult latency;
  std::uint64_t wrong = 0;  // messages or answers that arrived here and weren't what they must be
  Findings peer;
  bool peer_answered = false;
  wire::Transport transport = wire::Transport::rc;  // of any other not all need have arrived
};

/// What both kinds of run have alike: a lane a connection, and when all is through.
class ClientTraffic : public Application {
 public:
  ClientTraffic(const sim::PerfConfig& config, const std::vector<Dialled>& dialled)
      : each_(config.iterations) {
    for (const Dialled& d : dialled) {
      lanes_.push_back(std::make_unique<ClientLane>(d));
      d.connection->run(*this);
      by_qpn_[d.connection->qpn()] = lanes_.back().get();
    }
  }
  /// All messages are through, but for those that a broken QP never posted.
  [[nodiscard]] bool done() const noexcept {
    if (result.bandwidth.failed == 0 && !until_) return completed_ >= each_ * lanes_.size();
    std::uint64_t all = 0;
    bool more = until_ && nic::now() < *until_;
    for (const auto& lane : lanes_) {
      const bool broken = lane->connection().pair().broken();
      all += broken || until_ ? lane->posted() : each_;
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
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      series.add(at, i, lanes_[i]->connection().pair());
    }
  }

  ClientResult result;

 protected:
  ClientLane& lane_of(const Connection& connection) { return *by_qpn_.at(connection.qpn()); }
  std::uint64_t each_;
  std::optional<Instant> until_;  // in place of each_: no message is posted from then on
  std::uint64_t completed_ = 0;
  Instant made_ = nic::now();
  std::vector<std::unique_ptr<ClientLane>> lanes_;

 private:
  std::map<std::uint32_t, ClientLane*> by_qpn_;
};

}  // namespace lw::gen

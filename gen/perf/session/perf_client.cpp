// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/perf_client.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/perf/traffic/bandwidth_traffic.h"
#include "gen/perf/traffic/read_back_traffic.h"
#include "nic/clock.h"

namespace lw::gen {

using wire::Operation;

Terms terms_of(const sim::PerfConfig& config, bool echo) noexcept {
  constexpr std::uint64_t kInbox = 16u << 20;
  Terms terms{.transport = config.qp.transport,
              .operation = config.operation,
              .immediate = config.immediate,
              .echo = echo,
              .size = config.operation == Operation::fetch_add ? 8 : config.size,
              .rate_control = config.qp.rate_control,
              .rate_bps = static_cast<std::uint64_t>(config.qp.rate_bps),
              .selective_repeat = config.qp.recovery == transport::Recovery::selective_repeat};
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
    traffic.sample(series_);
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
  transport::QpConfig qp = config.qp;
  // So that a place isn't written again before what it holds is out.
  if (terms.lossy()) qp.tx_depth = std::min(qp.tx_depth, terms.slots);
  auto dialled = side_.dial(terms, qp, config.qps);
  if (!dialled) return std::unexpected(dialled.error());
  Kind traffic(config, *dialled);
  traffic.start();
  if (auto moved = move(traffic); !moved) return std::unexpected(moved.error());
  traffic.finish();
  if (auto hung_up = side_.hang_up(*dialled); !hung_up) return std::unexpected(hung_up.error());
  ClientResult result = std::move(traffic.result);
  result.peer_answered = std::ranges::all_of(*dialled, &Dialled::answered);
  result.transport = terms.transport;
  for (const Dialled& d : *dialled) {
    result.peer.checked += d.findings.checked;
    result.peer.wrong += d.findings.wrong;
    result.peer.duplicates += d.findings.duplicates;
    result.peer.out_of_sequence += d.findings.out_of_sequence;
    result.peer.cnps += d.findings.cnps;
    result.peer.dropped += d.findings.dropped;
  }
  return result;
}

Result<ClientResult> PerfClient::bandwidth(const sim::PerfConfig& config) {
  return run<BandwidthTraffic>(config, terms_of(config, false));
}

Result<ClientResult> PerfClient::latency(const sim::PerfConfig& config) {
  sim::PerfConfig one = config;
  one.qps = 1;
  if (config.read_back) one.qp.tx_depth = std::max(one.qp.tx_depth, 2u);
  const bool carries = config.operation == Operation::send || config.operation == Operation::write;
  const bool echo = carries && !config.read_back;
  Terms terms = terms_of(one, echo);
  terms.depth = terms.slots = 1;
  return config.read_back ? run<ReadBackTraffic>(one, terms) : run<LatencyTraffic>(one, terms);
}

}  // namespace lw::gen

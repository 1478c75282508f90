// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_series.h"

#include <fmt/format.h>

namespace lw::gen {
namespace {

constexpr Duration kInterval = std::chrono::microseconds(100);

double us(Duration duration) noexcept { return static_cast<double>(duration.count()) / 1000; }

}  // namespace

Result<PerfSeries> PerfSeries::open(const std::string& path) {
  PerfSeries series;
  if (path.empty()) return series;
  series.path_ = path;
  series.file_.open(path);
  if (!series.file_) return fail(fmt::format("{}: can't be written", path), ExitCode::environment);
  series.file_ << "time_us,qp,rate_gbps,alpha,outstanding,retransmitted,rtt_us\n";
  return series;
}

void PerfSeries::attach(sim::Simulation& simulation, std::uint32_t qps) {
  if (!kept()) return;
  auto others = simulation.link(0).on_enter;
  simulation.link(0).on_enter = [this, &simulation, qps, others](Instant at,
                                                                 const transport::Packet& packet) {
    if (others) others(at, packet);
    if (!due(at)) return;
    for (std::uint32_t i = 0; i < qps; ++i) add(at, i, simulation.host(0).qp(i));
  };
}

bool PerfSeries::due(Instant at) noexcept {
  if (at < last_) next_ = Instant{};
  last_ = at;
  if (at < next_) return false;
  next_ = at + kInterval;
  return true;
}

void PerfSeries::add(Instant at, std::uint32_t qp, const transport::QueuePair& pair) {
  const auto& requester = pair.requester();
  const bool limits = pair.config().rate_control != transport::RateControl::none;
  const std::string rate = limits ? fmt::format("{:.4f}", pair.pacing().rate_bps() / 1e9) : "";
  file_ << fmt::format("{:.3f},{},{},{:.3f},{},{},{:.3f}\n", us(at - Instant{}), qp, rate,
                       pair.pacing().reaction().alpha(), requester.outstanding_psns(),
                       requester.counters().retransmitted, us(requester.round_trip()));
}

Result<void> PerfSeries::close() {
  if (path_.empty()) return {};
  file_.close();
  if (!file_) return fail(fmt::format("{}: not all was written", path_), ExitCode::environment);
  return {};
}

}  // namespace lw::gen

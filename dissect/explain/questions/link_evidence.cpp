// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/questions/link_evidence.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;
using analysis::LinkLoad;
using analysis::Session;

bool is_loss_before(const Anomaly& anomaly) {
  return anomaly.kind == AnomalyKind::psn_gap && anomaly.cause == Cause::lost_before_capture &&
         anomaly.certainty == analysis::Certainty::certain && anomaly.session != 0;
}

/// The load of the link to the receiver of the packets that an anomaly is about; null: not known.
const LinkLoad* load_of(const Evidence& evidence, const Anomaly& anomaly) {
  const Session& session = session_of(evidence, anomaly);
  const bool answers = anomaly.role != wire::Role::request;
  const std::uint32_t flow = session.directions[anomaly.direction ^ answers].flow;
  if (flow == analysis::QpFlow::kNone) return nullptr;
  const std::uint32_t target = evidence.analyst.flows()[flow].target;
  const auto& loads = evidence.analyst.loads();
  return target < loads.size() ? &loads[target] : nullptr;
}

void add_round_trips(RoundTrips& trips, const analysis::StreamCounts& counts) {
  constexpr std::uint64_t kEnough = 16, kSome = 4;  // round trips: some show that one was longer
  const CompactHistogram& rtt = counts.rtt;
  (rtt.count() < kEnough ? trips.others : trips.sampled) += counts.packets;
  if (rtt.count() < kSome || rtt.minimum() <= 0) return;
  const Duration least{rtt.minimum()}, wait{rtt.maximum() - rtt.minimum()};
  const Duration whole = least + counts.least_held_after.value_or(Duration{});
  trips.longest_wait = std::max(trips.longest_wait, wait);
  trips.growth = std::max(trips.growth,
                          static_cast<double>(wait.count()) / static_cast<double>(whole.count()));
  trips.loss_naks += counts.loss_naks;
  if (counts.loss_naks > 0)
    trips.longest_loss_wait = std::max(trips.longest_loss_wait, counts.longest_loss_nak - least);
}

}  // namespace

std::string LinkRate::text() const {
  constexpr std::string_view kSources[] = {"--link-rate", "the interface's, as the capture states",
                                           "the highest of 16 packets in a row"};
  return fmt::format("{} ({})", format_bit_rate(rate), kSources[static_cast<std::size_t>(source)]);
}

LinkRate link_rate_of(const Evidence& evidence) {
  if (evidence.link_rate) return {*evidence.link_rate, LinkRate::Source::option};
  std::uint64_t stated = 0;
  for (const CapturePointInfo& point : evidence.points.points())
    if (point.link_rate != 0)
      stated = stated == 0 ? point.link_rate : std::min(stated, point.link_rate);
  if (stated != 0) return {static_cast<double>(stated), LinkRate::Source::interface};
  LinkRate learned;
  for (const LinkLoad& load : evidence.analyst.loads())
    learned.rate = std::max(learned.rate, load.most());
  return learned;
}

std::uint64_t filled_packets(const Evidence& evidence, const LinkRate& link) {
  constexpr double kFilled = 0.9;  // of the link's rate
  std::uint64_t most = 0;
  for (const LinkLoad& load : evidence.analyst.loads())
    most = std::max(most, load.busy_packets(link.rate * kFilled / LinkLoad::kBusy));
  return most;
}

LossLoads loss_loads_of(const Evidence& evidence, const LinkRate& link) {
  constexpr double kFull = 0.75, kIdle = 0.5;  // of the link's rate
  LossLoads losses;
  for (const Anomaly& anomaly : evidence.anomalies) {
    if (!is_loss_before(anomaly)) continue;
    const LinkLoad* const load = load_of(evidence, anomaly);
    const auto row = load == nullptr ? std::nullopt : load->busiest_around(anomaly.stamp);
    const double rate = link.is_stated() || !row ? link.rate : load->most();
    if (row && row->rate >= kFull * rate)
      (row->several ? losses.several : losses.full) += anomaly.packets;
    else
      (row && row->rate < kIdle * rate ? losses.idle : losses.others) += anomaly.packets;
  }
  return losses;
}

RoundTrips round_trips_of(const Evidence& evidence) {
  RoundTrips trips;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions)
      if (direction.stream) add_round_trips(trips, direction.stream->counts());
  return trips;
}

}  // namespace lw::dissect

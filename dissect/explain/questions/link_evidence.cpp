// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/questions/link_evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

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

/// The whole way from a direction's sender to its receiver and back, as far as round trips of both
/// parts are known; zero: neither is.
Duration whole_way(const analysis::RequestStream& stream) {
  const analysis::StreamCounts& counts = stream.counts();
  if (counts.rtt.count() == 0) return {};
  return Duration{counts.rtt.minimum()} + std::max(counts.least_held_after.value_or(Duration{}),
                                                   stream.setup().round_trip.value_or(Duration{}));
}

/// Whether a direction's receiver answers so soon that no switch is between: two passages of one,
/// and what a NIC needs, take longer.
bool is_near(const analysis::RequestStream& stream) {
  constexpr Duration kNear = std::chrono::microseconds{1};
  const Duration least{stream.counts().rtt.minimum()};
  return std::min(least, stream.setup().answer_time.value_or(least)) <= kNear;
}

/// The part of the shortest round trips that NICs need, and is no path.
constexpr Duration kOfHosts = std::chrono::microseconds{2};

/// `whole`: the longest way that is known between the two hosts. `target`: the receiver's.
void add_round_trips(RoundTrips& trips, const analysis::RequestStream& stream, Duration whole,
                     std::uint32_t target) {
  const analysis::StreamCounts& counts = stream.counts();
  constexpr std::uint64_t kEnough = 16, kSome = 4;  // round trips: some show that one was longer
  const CompactHistogram& rtt = counts.rtt;
  const analysis::UndisturbedTrips& undisturbed = counts.undisturbed;
  (undisturbed.count < kEnough ? trips.others : trips.sampled) += counts.packets;
  trips.longest_way = std::max(trips.longest_way, whole);
  if (rtt.count() < kSome || rtt.minimum() <= 0) return;
  trips.seen += rtt.count();
  if (undisturbed.count < kSome) return;
  const Duration least{rtt.minimum()}, wait{undisturbed.longest - least};
  const Duration path = std::max(whole - kOfHosts, Duration{1});
  const RoundTripGrowth growth{
      .samples = undisturbed.count,
      .usual_wait = std::min(wait, Duration{rtt.quantile(0.9)} - least),
      .longest_wait = wait,
      .share = static_cast<double>(wait.count()) / static_cast<double>(path.count())};
  trips.all.add(growth);
  (is_near(stream) ? trips.near : trips.far).add(growth);
  trips.to[target].add(growth);
  trips.loss_naks += counts.loss_naks;
  if (counts.loss_naks > 0)
    trips.longest_loss_wait = std::max(trips.longest_loss_wait, counts.longest_loss_nak - least);
}

/// The two hosts of a session: that of its first direction's sender, and its receiver.
using HostPair = std::pair<std::uint32_t, std::uint32_t>;
HostPair hosts_of(const Evidence& evidence, const Session& session) {
  const analysis::QpFlow& flow = any_flow(evidence.analyst, session);
  const bool reversed = session.directions[0].flow == analysis::QpFlow::kNone;
  return reversed ? HostPair{flow.target, flow.source} : HostPair{flow.source, flow.target};
}

/// The key of a way between two hosts.
HostPair in_any_order(const HostPair& hosts) { return std::minmax(hosts.first, hosts.second); }

/// The rate of the link to a host: as stated, or the highest that was seen there.
double rate_to(const LinkLoad* load, const LinkRate& link) {
  return link.is_stated() || load == nullptr ? link.rate : load->most();
}

/// The share of rows of 16 packets that a loss within them would find busy.
double busy_share(const LinkLoad& load, double rate) {
  const auto& rows = load.rows();
  const auto is_busy = [&](const analysis::LoadRow& row) {
    return load.busiest_around(row.first)->rate >= LinkLoad::kBusy * rate;
  };
  return static_cast<double>(std::ranges::count_if(rows, is_busy)) /
         static_cast<double>(rows.size());
}

/// The fourth highest: few rows of short frames are faster than the link, as stamps are rounded.
double high_rate(std::vector<double>& rates) {
  constexpr std::size_t kPlace = 3;
  if (rates.size() <= kPlace) return 0;
  std::ranges::nth_element(rates, rates.begin() + kPlace, std::greater{});
  return rates[kPlace];
}

SharedLink shared_link_of(const LinkLoad& load) {
  constexpr double kFull = 0.9;
  std::vector<double> alone, together;
  for (const analysis::LoadRow& row : load.rows())
    (row.several ? together : alone).push_back(double{row.rate});
  SharedLink link{
      .alone = high_rate(alone), .together = high_rate(together), .rows = together.size()};
  const auto& rows = load.rows();
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const Duration time = stamp_difference(rows[i + 1].first, rows[i].first);
    link.time += time;
    if (!rows[i].several || double{rows[i].rate} < kFull * link.alone) continue;
    ++link.full;
    link.full_time += time;
  }
  return link;
}

FilledLink filled_link_of(const LinkLoad& load, double rate) {
  constexpr double kFilled = 0.95;                 // of the link's rate
  constexpr std::uint64_t kRow = 16, kFewest = 4;  // packets, rows
  FilledLink filled;
  if (rate <= 0) return filled;
  const auto& rows = load.rows();
  for (std::size_t i = 0; i < rows.size();) {
    const std::size_t first = i;
    bool several = false;
    for (; i < rows.size() && rows[i].rate >= kFilled * rate; ++i)
      several = several || rows[i].several;
    if (several && i - first >= kFewest) {
      filled.packets += (i - first) * kRow;
      filled.time += stamp_difference(rows[i - 1].first, rows[first].first);
    }
    i = std::max(i, first + 1);
  }
  return filled;
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

FilledLink filled_link_of(const Evidence& evidence, const LinkRate& link) {
  FilledLink most;
  for (const LinkLoad& load : evidence.analyst.loads())
    if (const FilledLink one = filled_link_of(load, link.rate); one.packets > most.packets)
      most = one;
  return most;
}

LossLoads loss_loads_of(const Evidence& evidence, const LinkRate& link) {
  constexpr double kIdle = 0.5;  // of the link's rate
  LossLoads losses;
  std::map<const LinkLoad*, std::uint64_t> runs_of;
  for (const Anomaly& anomaly : evidence.anomalies) {
    if (!is_loss_before(anomaly)) continue;
    const LinkLoad* const load = load_of(evidence, anomaly);
    const auto row = load == nullptr ? std::nullopt : load->busiest_around(anomaly.stamp);
    const double rate = rate_to(load, link);
    const bool busy = row && row->rate >= LinkLoad::kBusy * rate;
    if (busy)
      (row->several ? losses.several : losses.full) += anomaly.packets;
    else
      (row && row->rate < kIdle * rate ? losses.idle : losses.others) += anomaly.packets;
    ++losses.runs;
    losses.busy_runs += busy ? 1 : 0;
    if (!row) continue;
    ++runs_of[load];
    losses.targets.insert(static_cast<std::uint32_t>(load - evidence.analyst.loads().data()));
  }
  for (const auto& [load, runs] : runs_of)
    losses.busy_share += busy_share(*load, rate_to(load, link)) * static_cast<double>(runs) /
                         static_cast<double>(losses.runs);
  return losses;
}

bool LossLoads::follow_load() const noexcept {
  constexpr double kChance = 1e-6;
  if (runs == 0) return false;
  const double seen = static_cast<double>(busy_runs) / static_cast<double>(runs);
  const double usual = std::max(busy_share, 1e-9);
  if (seen <= usual) return false;
  const double divergence = seen * std::log(seen / usual) +
                            (seen < 1 ? (1 - seen) * std::log((1 - seen) / (1 - usual)) : 0);
  return static_cast<double>(runs) * divergence > -std::log(kChance);
}

SharedLink shared_link_of(const Evidence& evidence) {
  SharedLink most;
  std::uint64_t rows = 0;
  for (const LinkLoad& load : evidence.analyst.loads()) {
    const SharedLink link = shared_link_of(load);
    rows += load.rows().size();
    if (link.rows > most.rows) most = link;
  }
  most.rows_of_all_hosts = rows;
  return most;
}

bool SharedLink::is_full() const noexcept {
  constexpr std::uint64_t kEnough = 8;  // rows
  constexpr double kAsFast = 1.2;       // rates of rows vary with the lengths of their frames
  return alone > 0 && together <= kAsFast * alone && full >= kEnough && 5 * full >= 3 * rows;
}

bool SharedLink::was_full_for_long() const noexcept {
  constexpr std::uint64_t kEnough = 32;  // rows
  return is_full() && full >= kEnough && 2 * full_time >= time;
}

void RoundTripGrowth::add(const RoundTripGrowth& other) noexcept {
  samples += other.samples;
  usual_wait = std::max(usual_wait, other.usual_wait);
  longest_wait = std::max(longest_wait, other.longest_wait);
  share = std::max(share, other.share);
}

const RoundTripGrowth& path_growth(const RoundTrips& trips, const SharedLink& shared) {
  return trips.near.samples > 0 && shared.rows == 0 ? trips.far : trips.all;
}

RoundTrips round_trips_of(const Evidence& evidence) {
  std::map<HostPair, Duration> ways;
  const auto each = [&evidence](auto&& see) {
    for (const Session& session : evidence.analyst.sessions()) {
      const auto& [one, other] = session.directions;
      const auto [sender, receiver] = hosts_of(evidence, session);
      if (one.stream) see(HostPair{sender, receiver}, *one.stream);
      if (other.stream) see(HostPair{receiver, sender}, *other.stream);
    }
  };
  each([&ways](const HostPair& hosts, const analysis::RequestStream& stream) {
    Duration& way = ways[in_any_order(hosts)];
    way = std::max(way, whole_way(stream));
  });
  RoundTrips trips;
  each([&](const HostPair& hosts, const analysis::RequestStream& stream) {
    add_round_trips(trips, stream, ways[in_any_order(hosts)], hosts.second);
  });
  return trips;
}

}  // namespace lw::dissect

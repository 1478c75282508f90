// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/progress.h"

#include <algorithm>

namespace lw::gen {
namespace {

/// A quantile reads a histogram from end to end: of thousands of flows that would hold up the loop
/// that asks.
constexpr std::size_t kMostQuantiles = 256;

void add_received(FlowProgress& progress, const ReceiveFlow& flow, bool with_quantiles) {
  progress.is_received = true;
  progress.received_frames += flow.frames;
  progress.received_bytes += flow.bytes;
  progress.lost += flow.order.lost;
  progress.duplicated += flow.order.duplicated;
  progress.out_of_order += flow.order.out_of_order;
  progress.bad_icrc += flow.bad_icrc;
  progress.ce_marks += flow.ce_marks;
  if (!flow.signature) return;
  const Histogram& latency = flow.signature->latency;
  progress.latencies += latency.count();
  progress.latency_sum_ns += latency.mean() * static_cast<double>(latency.count());
  if (with_quantiles) progress.p99_ns = std::max(progress.p99_ns, latency.quantile(0.99));
  progress.latency_max_ns = std::max(progress.latency_max_ns, latency.maximum());
}

}  // namespace

std::vector<FlowProgress> progress_of(const FlowNames& names, const std::vector<FlowTally>* sent,
                                      const Measurement* received) {
  std::vector<FlowProgress> all;
  for (std::size_t i = 0; sent != nullptr && i < sent->size(); ++i) {
    const FlowTally& tally = (*sent)[i];
    all.push_back({.name = names[i],
                   .is_sent = true,
                   .sent_frames = tally.frames,
                   .sent_wire_bytes = tally.wire_bytes,
                   .not_sent = tally.not_sent});
  }
  const std::size_t ours = all.size();
  if (received == nullptr) return all;
  const bool few = received->flows().size() <= kMostQuantiles;
  for (const ReceiveFlow& flow : received->flows()) {
    const std::uint32_t id = flow.stream.key.dest_qp;
    if (flow.stream.is_signed && id < ours) {
      add_received(all[id], flow, few);
    } else {
      add_received(all.emplace_back(FlowProgress{.name = name_of(flow, names)}), flow, few);
    }
  }
  return all;
}

FlowProgress total_of(const std::vector<FlowProgress>& flows) {
  FlowProgress sum{.name = "all"};
  for (const FlowProgress& flow : flows) {
    sum.is_sent |= flow.is_sent;
    sum.is_received |= flow.is_received;
    sum.sent_frames += flow.sent_frames;
    sum.sent_wire_bytes += flow.sent_wire_bytes;
    sum.not_sent += flow.not_sent;
    sum.received_frames += flow.received_frames;
    sum.received_bytes += flow.received_bytes;
    sum.lost += flow.lost;
    sum.duplicated += flow.duplicated;
    sum.out_of_order += flow.out_of_order;
    sum.bad_icrc += flow.bad_icrc;
    sum.ce_marks += flow.ce_marks;
    sum.latencies += flow.latencies;
    sum.latency_sum_ns += flow.latency_sum_ns;
    sum.p99_ns = std::max(sum.p99_ns, flow.p99_ns);
    sum.latency_max_ns = std::max(sum.latency_max_ns, flow.latency_max_ns);
  }
  return sum;
}

}  // namespace lw::gen

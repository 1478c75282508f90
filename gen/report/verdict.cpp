// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/verdict.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gen/report/flow_report.h"
#include "report/json_line.h"

namespace lw::gen {
namespace {

using config::Bound;
using config::Metric;

bool is_of_sender(Metric metric) {
  return metric == Metric::not_sent || metric == Metric::rate_error || metric >= Metric::pacing_p50;
}

void hold(Verdict& verdict, const std::string& name, const Bound& bound, double value) {
  if (bound.holds(value)) return;
  verdict.broken.push_back(fmt::format("{}: {} is {}, expected {}", name,
                                       config::key_of(bound.metric),
                                       config::value_text(bound.metric, value), bound.text));
}

/// The metric's value. Loss is a share of the frames sent, if known.
std::optional<double> figure(const ReceiveFlow& flow, Metric metric, const RunReport* sent) {
  const std::uint32_t id = flow.stream.key.dest_qp;
  const bool known = metric == Metric::loss && flow.stream.is_signed && sent != nullptr &&
                     id < sent->flows.size() && sent->flows[id].frames > 0;
  if (!known) return value_of(flow, metric);
  const FlowCounters& counters = sent->flows[id];
  return static_cast<double>(lost_of(flow, counters)) / static_cast<double>(counters.frames);
}

bool came(const Measurement& measurement, std::uint32_t id) {
  return std::ranges::any_of(measurement.flows(), [id](const ReceiveFlow& flow) {
    return flow.stream.is_signed && flow.stream.key.dest_qp == id;
  });
}

void judge_absent(Verdict& verdict, const config::FlowProfile& profile,
                  const Measurement& measurement) {
  for (const config::Flow& flow : profile.flows) {
    if (!flow.signature || came(measurement, flow.id)) continue;
    verdict.broken.push_back(fmt::format("{}: no signed frame of it came", flow.name));
  }
}

double quantile_of(const Histogram& histogram, Metric metric) {
  if (metric == Metric::pacing_max) return static_cast<double>(histogram.maximum());
  return static_cast<double>(histogram.quantile(metric == Metric::pacing_p50 ? 0.5 : 0.99));
}

double sent_figure(const FlowCounters& counters, const config::Rate& rate, Metric metric) {
  if (metric == Metric::rate_error) return std::abs(counters.achieved(rate.unit) / rate.value - 1);
  const auto all =
      static_cast<double>(std::max<std::uint64_t>(1, counters.frames + counters.not_sent));
  return static_cast<double>(counters.not_sent) / all;
}

}  // namespace

std::uint64_t lost_of(const ReceiveFlow& flow, const FlowCounters& sent) {
  const std::uint64_t is_signed = sent.frames - std::min(sent.frames, sent.unsigned_frames);
  const std::uint64_t unique = flow.frames - std::min(flow.frames, flow.order.duplicated);
  return is_signed - std::min(is_signed, unique);
}

void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent) {
  const FlowNames names = names_in(profile);
  for (const Bound& bound : profile.expect) {
    if (is_of_sender(bound.metric)) continue;
    for (const ReceiveFlow& flow : measurement.flows()) {
      const auto value = figure(flow, bound.metric, sent);
      if (value) hold(verdict, name_of(flow, names), bound, *value);
    }
    if (bound.metric == Metric::loss) judge_absent(verdict, profile, measurement);
  }
}

void judge_sent(Verdict& verdict, const config::FlowProfile& profile, const RunReport& sent) {
  for (const Bound& bound : profile.expect) {
    if (!is_of_sender(bound.metric)) continue;
    if (config::is_time(bound.metric)) {
      hold(verdict, "all flows", bound, quantile_of(sent.audit.pacing_error, bound.metric));
      continue;
    }
    for (std::size_t i = 0; i < sent.flows.size(); ++i) {
      const config::Flow& flow = profile.flows[i];
      hold(verdict, flow.name, bound, sent_figure(sent.flows[i], flow.rate, bound.metric));
    }
  }
}

void note_unchecked(Verdict& verdict, const config::FlowProfile& profile, bool sent,
                    bool received) {
  for (const Bound& bound : profile.expect) {
    if (is_of_sender(bound.metric) ? sent : received) continue;
    verdict.unchecked.emplace_back(config::key_of(bound.metric));
  }
}

std::string to_text(const Verdict& verdict, const config::FlowProfile& profile) {
  if (profile.expect.empty()) return {};
  std::string text;
  for (const std::string& line : verdict.broken) text += "expectation broken: " + line + "\n";
  if (verdict.holds()) text += "all that was checked is as expected\n";
  if (!verdict.unchecked.empty()) {
    text += fmt::format("not checked here: {}\n", fmt::join(verdict.unchecked, ", "));
  }
  return text;
}

report::Json to_json(const Verdict& verdict) {
  return {{"holds", verdict.holds()}, {"broken", verdict.broken}, {"unchecked", verdict.unchecked}};
}

}  // namespace lw::gen

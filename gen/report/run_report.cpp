// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/report/flow_report.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using config::Bound;
using config::Metric;

bool is_of_sender(Metric metric) {
  return metric == Metric::not_sent || metric == Metric::rate_error || metric >= Metric::pacing_p50;
}

void hold(Verdict& verdict, const std::string& name, const Bound& bound, double value) {
  const std::string_view key = config::key_of(bound.metric);
  const std::string measured = config::value_text(bound.metric, value);
  verdict.cases.push_back({.suite = name,
                           .name = fmt::format("{} {}", key, bound.text),
                           .measured = measured,
                           .expected = bound.text,
                           .passed = bound.holds(value)});
  if (bound.holds(value)) return;
  verdict.broken.push_back(
      fmt::format("{}: {} is {}, expected {}", name, key, measured, bound.text));
}

/// Returns the value of the metric. Loss is a share of the sent frames, if their number is known.
std::optional<double> figure(const ReceiveFlow& flow, Metric metric, const RunReport* sent) {
  const std::uint32_t id = flow.stream.key.dest_qp;
  const bool known = metric == Metric::loss && flow.stream.is_signed && sent != nullptr &&
                     id < sent->flows.size() && sent->flows[id].frames > 0;
  if (!known) return value_of(flow, metric);
  const FlowCounters& counters = sent->flows[id];
  return static_cast<double>(lost_of(flow, counters)) / static_cast<double>(counters.frames);
}

/// True for metrics that two different clocks falsify: latency, but not its variation.
bool compares_clocks(Metric metric) { return config::is_time(metric) && metric != Metric::jitter; }

/// Adds a failure for each flow whose latencies are not valid.
void judge_clocks(Verdict& verdict, const Measurement& measurement, const FlowNames& names) {
  for (const ReceiveFlow& flow : measurement.flows()) {
    const std::string doubt = measurement.latency_doubt(flow);
    if (!doubt.empty())
      verdict.add_broken(name_of(flow, names), "the latency can't be judged: " + doubt);
  }
}

bool bounds_loss(const config::FlowProfile& profile) {
  return std::ranges::any_of(profile.expect,
                             [](const Bound& bound) { return bound.metric == Metric::loss; });
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

void Verdict::add_broken(const std::string& flow, const std::string& what) {
  broken.push_back(flow.empty() ? what : flow + ": " + what);
  cases.push_back({.suite = flow.empty() ? "all flows" : flow,
                   .name = what,
                   .measured = "broken",
                   .expected = {},
                   .passed = false});
}

std::uint64_t lost_of(const ReceiveFlow& flow, const FlowCounters& sent) {
  const std::uint64_t is_signed = sent.frames - std::min(sent.frames, sent.unsigned_frames);
  const std::uint64_t at_end = is_signed - std::min(is_signed, flow.tracker.next());
  return std::min(is_signed, flow.order.lost + at_end);
}

void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent) {
  const FlowNames names = names_in(profile);
  const auto bounds_latency = [](const Bound& bound) {
    return compares_clocks(bound.metric) && !is_of_sender(bound.metric);
  };
  if (std::ranges::any_of(profile.expect, bounds_latency))
    judge_clocks(verdict, measurement, names);
  for (const Bound& bound : profile.expect) {
    if (is_of_sender(bound.metric)) continue;
    for (const ReceiveFlow& flow : measurement.flows()) {
      if (bounds_latency(bound) && !measurement.latency_doubt(flow).empty()) continue;
      const auto value = figure(flow, bound.metric, sent);
      if (value) hold(verdict, name_of(flow, names), bound, *value);
    }
  }
  if (!bounds_loss(profile)) return;
  for (const AbsentFlow& flow : absent_flows(profile, measurement))
    if (flow.expected.stream.is_signed)
      verdict.add_broken(config::full_name(profile.flows[flow.id]), "no signed frame of it came");
}

bool allows_loss(const config::FlowProfile& profile, double share) {
  bool bounded = false;
  for (const Bound& bound : profile.expect) {
    if (bound.metric != Metric::loss) continue;
    if (!bound.holds(share)) return false;
    bounded = true;
  }
  return bounded;
}

void judge_absent(Verdict& verdict, const config::FlowProfile& profile,
                  std::span<const AbsentFlow> absent) {
  const bool loss_is_bounded = bounds_loss(profile);
  for (const AbsentFlow& flow : absent) {
    const bool judged = loss_is_bounded && flow.expected.stream.is_signed;
    if (!judged)
      verdict.add_broken(config::full_name(profile.flows[flow.id]), "no frame of it came");
  }
}

void judge_missed(Verdict& verdict, std::uint64_t missed) {
  if (missed == 0) return;
  verdict.add_broken(
      "", fmt::format("{} frames missed: they came, and were lost before they were read, so flows "
                      "seem to have lost frames that the path has not",
                      missed));
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
  if (profile.expect.empty() && verdict.holds() && verdict.not_judged.empty()) return {};
  std::string text;
  for (const std::string& line : verdict.broken) text += "expectation broken: " + line + "\n";
  if (verdict.holds()) text += "all that was checked is as expected\n";
  if (!verdict.unchecked.empty()) {
    text += fmt::format("not checked here: {}\n", fmt::join(verdict.unchecked, ", "));
  }
  for (const std::string& line : verdict.not_judged) text += "cannot be judged: " + line + "\n";
  return text;
}

report::Json to_json(const Verdict& verdict) {
  report::Json json = {
      {"holds", verdict.holds()}, {"broken", verdict.broken}, {"unchecked", verdict.unchecked}};
  if (!verdict.not_judged.empty()) json["not_judged"] = verdict.not_judged;
  return json;
}

namespace {

using config::Rate;
using report::Json;

std::string rate_text(Rate::Unit unit, double value) {
  const bool counted = unit == Rate::Unit::frames || unit == Rate::Unit::messages;
  return counted ? fmt::format("{} {}", per_second_text(value), name_of(unit))
                 : format_bit_rate(value < 1 ? value : std::round(value)) +
                       (unit == Rate::Unit::goodput ? " of payload" : "");
}

Json rate_json(const Rate& rate) { return {{"unit", name_of(rate.unit)}, {"value", rate.value}}; }

Json counters_json(const FlowCounters& counters) {
  Json json = {{"frames", counters.frames},
               {"bytes", counters.bytes},
               {"payload_bytes", counters.payload_bytes},
               {"messages", counters.messages},
               {"not_sent", counters.not_sent},
               {"unsigned_frames", counters.unsigned_frames}};
  for (std::size_t kind = 0; kind < counters.faults.size(); ++kind) {
    if (counters.faults[kind] == 0) continue;
    json["faults"][std::string(name_of(static_cast<config::FaultKind>(kind)))] =
        counters.faults[kind];
  }
  return json;
}

/// Formats faults: "3 bad_icrc, 1 psn_gap"; empty if there are none.
std::string fault_words(const FlowCounters& counters) {
  std::string words;
  for (std::size_t kind = 0; kind < counters.faults.size(); ++kind) {
    if (counters.faults[kind] == 0) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", counters.faults[kind],
                         name_of(static_cast<config::FaultKind>(kind)));
  }
  return words;
}

/// Sum of the rates of the QPs of a flow, each over its own time, because they do not begin and end
/// together.
double achieved(const RunReport& run, std::size_t first, std::size_t count, Rate::Unit unit) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += run.flows[i].achieved(unit);
  return sum;
}

/// Rate of a whole [[flow]]. All its QPs have the same share.
Rate whole_rate(const config::Flow& flow) { return {flow.rate.unit, flow.rate.value * flow.qps}; }

std::string flow_name(const config::Flow& flow) {
  return flow.qps == 1 ? flow.name : fmt::format("{} ({} QPs)", flow.name, flow.qps);
}

constexpr std::size_t kMostFlows = 100;

std::string ns_text(std::int64_t ns) { return format_duration(Duration{ns}); }

std::string audit_text(const SendAudit& audit) {
  const Histogram& error = audit.pacing_error;
  if (error.count() == 0) return {};
  return fmt::format(
      "{} bursts left late by: p50 {}, p99 {}, p99.9 {}, at most {}\n"
      "{} outgoing ICRCs computed anew: {} bad\n",
      error.count(), ns_text(error.quantile(0.5)), ns_text(error.quantile(0.99)),
      ns_text(error.quantile(0.999)), ns_text(error.maximum()), audit.icrc_checked, audit.icrc_bad);
}

Json audit_json(const SendAudit& audit) {
  const Histogram& error = audit.pacing_error;
  return {{"bursts", error.count()},
          {"pacing_error_ns",
           {{"min", error.minimum()},
            {"mean", error.mean()},
            {"p50", error.quantile(0.5)},
            {"p99", error.quantile(0.99)},
            {"p99_9", error.quantile(0.999)},
            {"max", error.maximum()}}},
          {"icrc_checked", audit.icrc_checked},
          {"icrc_bad", audit.icrc_bad}};
}

/// Formats reasons: "12 ring_full, 3 mtu"; empty if all frames were sent.
std::string reasons_text(const NotSent& frames) {
  std::string text;
  for (std::size_t i = 0; i < frames.frames.size(); ++i) {
    if (frames.frames[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", frames.frames[i],
                        name_of(static_cast<NotSentReason>(i)));
  }
  return text;
}

Json reasons_json(const NotSent& frames) {
  Json json;
  for (std::size_t i = 0; i < frames.frames.size(); ++i)
    json[std::string(name_of(static_cast<NotSentReason>(i)))] = frames.frames[i];
  return json;
}

std::string catch_up_text(const RunReport& run) {
  if (!run.catch_up || run.caught_up.stalls == 0) return {};
  return fmt::format("{} of the schedule put off in {} stalls, as frames may catch up at most {}\n",
                     format_duration(run.caught_up.skipped), run.caught_up.stalls,
                     format_duration(*run.catch_up));
}

/// Adds the values of a run through ports.
void add_ports(Json& json, const RunReport& run) {
  if (run.ports.empty()) return;
  json["run"] = run.run;
  json["clock"] = run.clock;
  json["lost_in_ports"] = run.lost_in_ports();
  auto& ports = json["ports"] = Json::array();
  for (const PortLosses& port : run.ports) ports.push_back(to_json(port));
  if (run.catch_up) {
    json["catch_up"] = {{"limit_ns", run.catch_up->count()},
                        {"skipped_ns", run.caught_up.skipped.count()},
                        {"stalls", run.caught_up.stalls}};
  }
  if (!run.interrupted.empty()) json["interrupted"] = run.interrupted;
}

Json received_json(const config::FlowProfile& profile, const RunReport& sent,
                   const Measurement& received, std::span<const AbsentFlow> absent) {
  const FlowNames names = names_in(profile);
  const MeasureTotals& totals = received.totals();
  Json json = {{"frames", totals.frames},
               {"roce", totals.roce},
               {"bytes", totals.bytes},
               {"icrc_checked", totals.icrc_checked},
               {"bad_icrc", totals.bad_icrc}};
  auto& flows = json["flows"] = Json::array();
  for (const ReceiveFlow& flow : received.flows()) {
    Json row = to_json(flow, names);
    const std::uint32_t id = flow.stream.key.dest_qp;
    if (flow.stream.is_signed && id < sent.flows.size()) {
      row["sent"] = sent.flows[id].frames;
      row["never_came"] = lost_of(flow, sent.flows[id]);
    }
    flows.push_back(std::move(row));
  }
  for (const AbsentFlow& flow : absent) {
    Json row = to_json(flow.expected, names);
    row["sent"] = row["never_came"] = sent.flows[flow.id].frames;
    flows.push_back(std::move(row));
  }
  return json;
}

/// Lists the missing frames of each flow that the receiver can tell.
std::string missing_text(const RunReport& sent, const Measurement& received,
                         std::span<const AbsentFlow> absent, const FlowNames& names) {
  std::string text;
  const auto add = [&](const ReceiveFlow& flow, std::uint64_t missing, std::uint64_t frames) {
    text += fmt::format("{}: {} of {} frames never came\n", name_of(flow, names), missing, frames);
  };
  for (const ReceiveFlow& flow : received.flows()) {
    const std::uint32_t id = flow.stream.key.dest_qp;
    if (!flow.stream.is_signed || id >= sent.flows.size()) continue;
    if (const std::uint64_t missing = lost_of(flow, sent.flows[id]); missing > 0)
      add(flow, missing, sent.flows[id].frames);
  }
  for (const AbsentFlow& flow : absent)
    add(flow.expected, sent.flows[flow.id].frames, sent.flows[flow.id].frames);
  return text;
}

/// Returns the flows that were sent and did not come.
std::vector<AbsentFlow> absent_of(const config::FlowProfile& profile, const RunReport& sent,
                                  const Measurement* received) {
  std::vector<AbsentFlow> absent;
  if (received != nullptr) absent = absent_flows(profile, *received);
  std::erase_if(absent, [&](const AbsentFlow& flow) { return sent.flows[flow.id].frames == 0; });
  return absent;
}

}  // namespace

std::string per_second_text(double value) {
  return value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string asked_rate(const config::Flow& flow) {
  const Rate rate = whole_rate(flow);
  return rate_text(rate.unit, rate.value);
}

std::string to_text(const PortLosses& port) {
  std::string text;
  if (const auto refused = reasons_text(port.refused); !refused.empty())
    text += fmt::format("port `{}` did not take {} frames: {}\n", port.port, port.refused.total(),
                        refused);
  if (const auto lost = reasons_text(port.lost); !lost.empty())
    text += fmt::format("port `{}` took {} frames and lost them: {}\n", port.port,
                        port.lost.total(), lost);
  return text;
}

Json to_json(const PortLosses& port) {
  return {{"port", port.port},
          {"not_sent", reasons_json(port.refused)},
          {"lost", reasons_json(port.lost)}};
}

std::string to_text(const RunReport& run, const config::FlowProfile& profile) {
  using report::Align;
  report::Table table({{"flow", Align::left},
                       {"frames", Align::right},
                       {"bytes", Align::right},
                       {"messages", Align::right},
                       {"rate asked", Align::right},
                       {"rate achieved", Align::right},
                       {"not sent", Align::right}});
  for (std::size_t i = 0; i < run.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& flow = profile.flows[i];
    const FlowCounters counters = run.total(i, flow.qps);
    const Rate rate = whole_rate(flow);
    table.add_row({flow_name(flow), fmt::to_string(counters.frames), fmt::to_string(counters.bytes),
                   fmt::to_string(counters.messages), rate_text(rate.unit, rate.value),
                   rate_text(rate.unit, achieved(run, i, flow.qps, rate.unit)),
                   fmt::to_string(counters.not_sent)});
  }
  std::string text = table.to_string();
  const FlowCounters sum = run.total();
  text += fmt::format("{} frames, {} in {}: {} on the wire, {} not sent\n", sum.frames,
                      format_bytes(static_cast<double>(sum.bytes)), format_duration(run.elapsed),
                      format_bit_rate(sum.achieved(Rate::Unit::wire_bits)), sum.not_sent);
  if (sum.unsigned_frames > 0) {
    text += fmt::format("{} frames were too short for the signature\n", sum.unsigned_frames);
  }
  for (const PortLosses& port : run.ports) text += to_text(port);
  text += catch_up_text(run);
  const std::string faults = fault_words(sum);
  if (!faults.empty()) text += fmt::format("deliberate faults: {}\n", faults);
  return text;
}

Json to_json(const RunReport& run, const config::FlowProfile& profile) {
  Json json = {{"profile", run.profile}, {"seed", run.seed}};
  json["elapsed_ns"] = run.elapsed.count();
  json.update(counters_json(run.total()));
  auto& flows = json["flows"] = Json::array();
  for (std::size_t i = 0; i < run.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& first = profile.flows[i];
    Json flow = {{"name", first.name}};
    const Rate rate = whole_rate(first);
    flow.update(counters_json(run.total(i, first.qps)));
    flow["rate_asked"] = rate_json(rate);
    flow["rate_achieved"] = rate_json({rate.unit, achieved(run, i, first.qps, rate.unit)});
    for (std::size_t qp = 0; first.qps > 1 && qp < first.qps; ++qp) {
      Json one = {{"qp", profile.flows[i + qp].frame.bth.dest_qp}, {"id", i + qp}};
      one.update(counters_json(run.flows[i + qp]));
      flow["qps"].push_back(std::move(one));
    }
    flows.push_back(std::move(flow));
  }
  return json;
}

RunSummary::RunSummary(const config::FlowProfile& profile, const RunReport& sent,
                       const Measurement* received)
    : profile_(profile),
      sent_(sent),
      received_(received),
      absent_(absent_of(profile, sent, received)) {
  judge_sent(verdict_, profile, sent);
  if (received != nullptr) judge_received(verdict_, profile, *received, &sent);
  judge_absent(verdict_, profile, absent_);
  note_unchecked(verdict_, profile, true, received != nullptr);
}

bool RunSummary::good() const {
  return sent_.total().not_sent == 0 && sent_.lost_in_ports() == 0 && sent_.interrupted.empty() &&
         sent_.audit.icrc_bad == 0 && verdict_.holds();
}

std::string RunSummary::text() const {
  std::string text = to_text(sent_, profile_) + audit_text(sent_.audit);
  if (received_ != nullptr) {
    const FlowNames names = names_in(profile_);
    text += "received:\n" + flow_table(*received_, names, kMostFlows, Measured::frames, absent_);
    text += missing_text(sent_, *received_, absent_, names);
    text += fmt::format("latencies by {}\n", sent_.clock);
  }
  if (!sent_.interrupted.empty()) text += fmt::format("ended early: {}\n", sent_.interrupted);
  return text + to_text(verdict_, profile_);
}

std::string RunSummary::json() const {
  Json json = to_json(sent_, profile_);
  add_ports(json, sent_);
  if (sent_.audit.pacing_error.count() > 0) json["audit"] = audit_json(sent_.audit);
  if (received_ != nullptr) json["received"] = received_json(profile_, sent_, *received_, absent_);
  if (!profile_.expect.empty() || !verdict_.holds()) json["expect"] = to_json(verdict_);
  return report::json_line("longwire.send", json);
}

}  // namespace lw::gen

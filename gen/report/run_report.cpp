// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/json_line.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using config::Rate;

std::string rate_text(Rate::Unit unit, double value) {
  const bool counted = unit == Rate::Unit::frames || unit == Rate::Unit::messages;
  return counted ? fmt::format("{:.0f} {}", value, name_of(unit))
                 : format_bit_rate(std::round(value)) +
                       (unit == Rate::Unit::goodput ? " of payload" : "");
}

report::Json rate_json(const Rate& rate) {
  return {{"unit", name_of(rate.unit)}, {"value", rate.value}};
}

report::Json tally_json(const FlowTally& tally) {
  report::Json json = {{"frames", tally.frames},
                       {"bytes", tally.bytes},
                       {"payload_bytes", tally.payload_bytes},
                       {"messages", tally.messages},
                       {"not_sent", tally.not_sent},
                       {"unsigned_frames", tally.unsigned_frames}};
  for (std::size_t kind = 0; kind < tally.faults.size(); ++kind) {
    if (tally.faults[kind] == 0) continue;
    json["faults"][std::string(name_of(static_cast<config::FaultKind>(kind)))] = tally.faults[kind];
  }
  return json;
}

/// "3 bad_icrc, 1 psn_gap"; empty without faults.
std::string fault_words(const FlowTally& tally) {
  std::string words;
  for (std::size_t kind = 0; kind < tally.faults.size(); ++kind) {
    if (tally.faults[kind] == 0) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", tally.faults[kind],
                         name_of(static_cast<config::FaultKind>(kind)));
  }
  return words;
}

/// Of QPs side by side, each over its own time: they begin and end one behind the other.
double achieved(const RunReport& run, std::size_t first, std::size_t count, Rate::Unit unit) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += run.flows[i].achieved(unit);
  return sum;
}

/// The rate of a [[flow]], all of whose QPs have the same share.
Rate whole_rate(const config::Flow& flow) { return {flow.rate.unit, flow.rate.value * flow.qps}; }

std::string flow_name(const config::Flow& flow) {
  return flow.qps == 1 ? flow.name : fmt::format("{} ({} QPs)", flow.name, flow.qps);
}

}  // namespace

double FlowTally::achieved(Rate::Unit unit) const noexcept {
  if (span <= begin) return 0;
  const double seconds = static_cast<double>((span - begin).count()) * 1e-9;
  switch (unit) {
    case Rate::Unit::frames:
      return static_cast<double>(frames) / seconds;
    case Rate::Unit::messages:
      return static_cast<double>(messages) / seconds;
    case Rate::Unit::goodput:
      return 8.0 * static_cast<double>(payload_bytes) / seconds;
    default:
      return 8.0 * static_cast<double>(wire_bytes) / seconds;
  }
}

FlowTally& FlowTally::operator+=(const FlowTally& other) noexcept {
  if (frames == 0 || (other.frames > 0 && other.begin < begin)) begin = other.begin;
  frames += other.frames;
  bytes += other.bytes;
  wire_bytes += other.wire_bytes;
  payload_bytes += other.payload_bytes;
  messages += other.messages;
  unsigned_frames += other.unsigned_frames;
  not_sent += other.not_sent;
  for (std::size_t kind = 0; kind < faults.size(); ++kind) faults[kind] += other.faults[kind];
  span = std::max(span, other.span);
  return *this;
}

FlowTally RunReport::total() const noexcept { return total(0, flows.size()); }

FlowTally RunReport::total(std::size_t first, std::size_t count) const noexcept {
  FlowTally sum;
  for (std::size_t i = first; i < first + count; ++i) sum += flows[i];
  return sum;
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
    const FlowTally tally = run.total(i, flow.qps);
    const Rate rate = whole_rate(flow);
    table.add_row({flow_name(flow), fmt::to_string(tally.frames), fmt::to_string(tally.bytes),
                   fmt::to_string(tally.messages), rate_text(rate.unit, rate.value),
                   rate_text(rate.unit, achieved(run, i, flow.qps, rate.unit)),
                   fmt::to_string(tally.not_sent)});
  }
  std::string text = table.to_string();
  const FlowTally sum = run.total();
  text += fmt::format("{} frames, {} in {}: {} on the wire, {} not sent\n", sum.frames,
                      format_bytes(static_cast<double>(sum.bytes)), format_duration(run.elapsed),
                      format_bit_rate(sum.achieved(Rate::Unit::wire_bits)), sum.not_sent);
  if (sum.unsigned_frames > 0) {
    text += fmt::format("{} frames were too short for the signature\n", sum.unsigned_frames);
  }
  const std::string faults = fault_words(sum);
  if (!faults.empty()) text += fmt::format("deliberate faults: {}\n", faults);
  return text;
}

report::Json to_json(const RunReport& run, const config::FlowProfile& profile) {
  report::Json json = {{"profile", run.profile}, {"seed", run.seed}};
  json["elapsed_ns"] = run.elapsed.count();
  json.update(tally_json(run.total()));
  auto& flows = json["flows"] = report::Json::array();
  for (std::size_t i = 0; i < run.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& first = profile.flows[i];
    report::Json flow = {{"name", first.name}};
    const Rate rate = whole_rate(first);
    flow.update(tally_json(run.total(i, first.qps)));
    flow["rate_asked"] = rate_json(rate);
    flow["rate_achieved"] = rate_json({rate.unit, achieved(run, i, first.qps, rate.unit)});
    for (std::size_t qp = 0; first.qps > 1 && qp < first.qps; ++qp) {
      report::Json one = {{"qp", profile.flows[i + qp].frame.bth.dest_qp}, {"id", i + qp}};
      one.update(tally_json(run.flows[i + qp]));
      flow["qps"].push_back(std::move(one));
    }
    flows.push_back(std::move(flow));
  }
  return json;
}

}  // namespace lw::gen

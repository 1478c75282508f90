// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_summary.h"

#include <fmt/format.h>

#include "gen/report/flow_report.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using report::Json;

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

/// The flow as it was received, or null.
const ReceiveFlow* received_of(const Measurement& received, std::uint32_t id) {
  for (const ReceiveFlow& flow : received.flows()) {
    if (flow.stream.is_signed && flow.stream.key.dest_qp == id) return &flow;
  }
  return nullptr;
}

Json received_json(const config::FlowProfile& profile, const RunReport& sent,
                   const Measurement& received) {
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
  return json;
}

/// Signed flows that left and of which nothing came, and what each of the others is short of.
std::string missing_text(const config::FlowProfile& profile, const RunReport& sent,
                         const Measurement& received) {
  std::string text;
  for (const config::Flow& flow : profile.flows) {
    const FlowTally& tally = sent.flows[flow.id];
    if (!flow.signature || tally.frames == 0) continue;
    const ReceiveFlow* came = received_of(received, flow.id);
    const std::uint64_t missing = came ? lost_of(*came, tally) : tally.frames;
    if (missing == 0) continue;
    text += fmt::format("{}: {} of {} frames never came\n", flow.name, missing, tally.frames);
  }
  return text;
}

}  // namespace

RunSummary::RunSummary(const config::FlowProfile& profile, const RunReport& sent,
                       const Measurement* received)
    : profile_(profile), sent_(sent), received_(received) {
  judge_sent(verdict_, profile, sent);
  if (received != nullptr) judge_received(verdict_, profile, *received, &sent);
  note_unchecked(verdict_, profile, true, received != nullptr);
}

bool RunSummary::good() const {
  return sent_.total().not_sent == 0 && sent_.audit.icrc_bad == 0 && verdict_.holds();
}

std::string RunSummary::text() const {
  std::string text = to_text(sent_, profile_) + audit_text(sent_.audit);
  if (received_ != nullptr) {
    text += "received:\n" + flow_table(*received_, names_in(profile_), kMostFlows);
    text += missing_text(profile_, sent_, *received_);
  }
  return text + to_text(verdict_, profile_);
}

std::string RunSummary::json() const {
  Json json = to_json(sent_, profile_);
  if (sent_.audit.pacing_error.count() > 0) json["audit"] = audit_json(sent_.audit);
  if (received_ != nullptr) json["received"] = received_json(profile_, sent_, *received_);
  if (!profile_.expect.empty()) json["expect"] = to_json(verdict_);
  return report::json_line(json);
}

}  // namespace lw::gen

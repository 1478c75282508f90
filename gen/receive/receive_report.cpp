// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/receive/receiver.h"
#include "report/json_line.h"

namespace lw::gen {

std::string to_text(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names) {
  constexpr std::size_t kMostFlows = 100;
  const MeasureTotals& totals = measurement.totals();
  std::string text = flow_table(measurement, names, kMostFlows);
  text += fmt::format("{} frames, {} of them RoCE, {} in {}; {} missed\n", totals.frames,
                      totals.roce, format_bytes(static_cast<double>(totals.bytes)),
                      format_duration(report.elapsed), report.missed);
  text += fmt::format("{} ICRCs checked, {} bad", totals.icrc_checked, totals.bad_icrc);
  if (totals.malformed > 0) text += fmt::format("; {} malformed", totals.malformed);
  if (totals.crowded_out > 0) text += fmt::format("; {} of too many flows", totals.crowded_out);
  return text + "\n";
}

std::string to_json(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names, const Verdict* verdict) {
  const MeasureTotals& totals = measurement.totals();
  report::Json json = {{"frames", totals.frames},
                       {"roce", totals.roce},
                       {"bytes", totals.bytes},
                       {"missed", report.missed},
                       {"elapsed_ns", report.elapsed.count()},
                       {"malformed", totals.malformed},
                       {"crowded_out", totals.crowded_out},
                       {"icrc_checked", totals.icrc_checked},
                       {"bad_icrc", totals.bad_icrc}};
  auto& flows = json["flows"] = report::Json::array();
  for (const ReceiveFlow& flow : measurement.flows()) flows.push_back(to_json(flow, names));
  if (verdict != nullptr) json["expect"] = to_json(*verdict);
  return report::json_line(json);
}

}  // namespace lw::gen

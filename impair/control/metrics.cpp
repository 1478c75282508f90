// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/metrics.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/figures/metrics.h"

namespace lw::impair {
namespace {

using report::Prometheus;
using Labels = Prometheus::Labels;
using Type = Prometheus::Type;

/// Counts of a ledger or recording file.
struct Counts {
  std::uint64_t written = 0, missing = 0;
};

using Objects = std::vector<report::LabelledObject>;

void add_rules(Prometheus& out, const Report& report) {
  Objects rules, stages;
  for (const DirectionReport& direction : report.directions) {
    const std::string& name = direction.accounting.direction.name;
    for (const emulator::Account& rule : direction.accounting.rules)
      if (is_listed(direction.accounting, rule))
        rules.push_back({{{"direction", name}, {"rule", rule.name}}, &rule});
    for (const StagesReport& each : direction.stages)
      stages.push_back({{{"direction", name}, {"rule", each.rule}}, &each});
  }
  add_metrics(out, "longwire_impair_", emulator::Account::figures(), rules);
  add_metrics(out, "longwire_impair_", StagesReport::figures(), stages);
}

void add_records(Prometheus& out, const Report& report) {
  const auto add = [&](std::string_view name, std::string_view help, const auto& written,
                       std::uint64_t Counts::* count) {
    out.family(name, Type::counter, help);
    for (const auto& [file, counts] : written) out.sample({{"file", file}}, counts.*count);
  };
  std::map<std::string, Counts> written;  // by file: several recordings may have one name
  const auto count = [&](const auto& file, std::uint64_t items) {
    written[file.file].written += items;
    written[file.file].missing += file.missing();
  };
  if (report.ledger) count(*report.ledger, report.ledger->records);
  for (const CaptureReport& capture : report.captures) count(capture, capture.frames);
  if (written.empty()) return;
  add("longwire_impair_records_written_total",
      "Records in the ledger, and frames in each recording.", written, &Counts::written);
  add("longwire_impair_records_missing_total",
      "Records and frames that were skipped, or that the file could not take.", written,
      &Counts::missing);
}

void add_ports(Prometheus& out, const Report& report) {
  Objects ports;
  for (const PortReport& port : report.ports)
    ports.push_back({{{"side", port.side}, {"port", port.port}}, &port});
  add_metrics(out, "longwire_impair_port_", PortReport::figures(), ports);
}

constexpr double kSecond = 1e9;  // ns

void add_spread(Prometheus& out, const Report& report, std::string_view name, std::string_view help,
                Spread DirectionReport::* spread) {
  out.family(name, Type::histogram, help);
  for (const auto& direction : report.directions) {
    const Spread& found = direction.*spread;
    std::vector<Prometheus::Bucket> buckets;
    for (std::size_t i = 0; i < found.up_to.size(); ++i)
      buckets.push_back({static_cast<double>(Spread::kLimits[i]) / kSecond, found.up_to[i]});
    out.histogram({{"direction", direction.accounting.direction.name}}, buckets, found.count,
                  found.sum / kSecond);
  }
}

}  // namespace

std::string to_prometheus(const Report& report) {
  Prometheus out;
  out.family("longwire_impair_run_seconds", Type::gauge, "For how long the box has been running.");
  out.sample({{"profile", report.profile}}, report.seconds);
  add_rules(out, report);
  add_spread(out, report, "longwire_impair_delay_seconds",
             "What rules asked of frames that wait: asked release minus arrival.",
             &DirectionReport::delay);
  add_spread(out, report, "longwire_impair_release_error_seconds",
             "Achieved minus asked release of delayed frames.", &DirectionReport::release_error);
  add_spread(out, report, "longwire_impair_pass_latency_seconds",
             "What the box itself took for frames that no rule delays.",
             &DirectionReport::pass_latency);
  add_ports(out, report);
  add_records(out, report);
  return out.text();
}

}  // namespace lw::impair

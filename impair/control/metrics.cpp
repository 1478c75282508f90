// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/metrics.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impair/report/run_verdict.h"
#include "report/figures/metrics.h"
#include "report/verdict.h"

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

/// Limits in ns of the histogram of delays: Spread::kLimits, and narrow ones around each constant
/// delay of a rule, so that a query finds it to half a per cent.
std::vector<std::int64_t> delay_limits(const DirectionReport& direction) {
  constexpr std::size_t kMostDelays = 16;
  std::set<std::int64_t> delays;
  for (const StagesReport& stages : direction.stages)
    if (const auto delay = stages.configs ? (*stages.configs)[stages.place].delay : std::nullopt;
        delay && delay->count() > 0 && delays.size() < kMostDelays)
      delays.insert(delay->count());
  std::set<std::int64_t> limits(Spread::kLimits.begin(), Spread::kLimits.end());
  for (const std::int64_t delay : delays) {
    const auto [first, last, count] = delay_bucket(delay);
    const std::int64_t width = last - first + 1;
    for (const int steps : {-5, -3, -2, -1, 0, 1, 2, 4})
      if (last + steps * width > 0) limits.insert(last + steps * width);
  }
  return {limits.begin(), limits.end()};
}

void add_delays(Prometheus& out, const Report& report) {
  out.family("longwire_impair_delay_seconds", Type::histogram,
             "What rules asked of frames that wait: asked release minus arrival. The limits are "
             "close around the constant delays of the rules.");
  for (const auto& direction : report.directions) {
    std::vector<Prometheus::Bucket> buckets;
    auto next = direction.delays.begin();
    std::uint64_t seen = 0;
    for (const std::int64_t limit : delay_limits(direction)) {
      for (; next != direction.delays.end() && next->last <= limit; ++next) seen += next->count;
      buckets.push_back({static_cast<double>(limit) / kSecond, seen});
    }
    out.histogram({{"direction", direction.accounting.direction.name}}, buckets,
                  direction.delay.count, direction.delay.sum / kSecond);
  }
}

}  // namespace

std::string to_prometheus(const Report& report) {
  Prometheus out;
  out.family("longwire_impair_run_seconds", Type::gauge, "For how long the box has been running.");
  out.sample({{"profile", report.profile}}, report.seconds);
  add_rules(out, report);
  add_delays(out, report);
  add_spread(out, report, "longwire_impair_release_error_seconds", kReleaseErrorMeaning,
             &DirectionReport::release_error);
  add_spread(out, report, "longwire_impair_pass_latency_seconds", kPassLatencyMeaning,
             &DirectionReport::pass_latency);
  add_ports(out, report);
  add_records(out, report);
  report::add_verdict(out, "longwire_impair_", verdict_of(report));
  return out.text();
}

}  // namespace lw::impair

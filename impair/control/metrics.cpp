// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/metrics.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include "report/prometheus.h"

namespace lw::impair {
namespace {

using report::Prometheus;
using Labels = Prometheus::Labels;
using Type = Prometheus::Type;

/// A counter of frames, which is a family of metrics.
struct Figure {
  std::string_view name, help;
  emulator::Amount emulator::Account::* amount;
};
constexpr Figure kFigures[] = {
    {"received", "Frames that came in", &emulator::Account::received},
    {"created", "Frames that the box made: duplicates, pause frames", &emulator::Account::created},
    {"sent", "Frames that went out", &emulator::Account::sent},
    {"consumed", "Frames that ended in the box: pause frames honoured",
     &emulator::Account::consumed},
    {"dropped_by_rule", "Frames that a rule dropped", &emulator::Account::dropped_by_rule},
};

/// Counts of a ledger or recording file.
struct Counts {
  std::uint64_t written = 0, missing = 0;
};

/// Calls visit(labels, account) for every listed rule of every direction.
template <class Visit>
void for_each_rule(const Report& report, Visit visit) {
  for (const auto& direction : report.directions)
    for (const auto& rule : direction.accounting.rules)
      if (is_listed(direction.accounting, rule))
        visit(Labels{{"direction", direction.accounting.direction.name}, {"rule", rule.name}},
              rule);
}

void add_figure(Prometheus& out, const Report& report, const Figure& figure) {
  out.family(fmt::format("longwire_impair_{}_frames_total", figure.name), Type::counter,
             fmt::format("{}.", figure.help));
  for_each_rule(report, [&](const Labels& labels, const emulator::Account& rule) {
    out.sample(labels, (rule.*figure.amount).frames);
  });
  out.family(fmt::format("longwire_impair_{}_bytes_total", figure.name), Type::counter,
             fmt::format("{}: their bytes, without FCS.", figure.help));
  for_each_rule(report, [&](const Labels& labels, const emulator::Account& rule) {
    out.sample(labels, (rule.*figure.amount).bytes);
  });
}

void add_wants(Prometheus& out, const Report& report) {
  out.family("longwire_impair_dropped_for_resource_frames_total", Type::counter,
             "Frames lost because the box had no room, no way out, no buffer or no link for them.");
  for_each_rule(report, [&](Labels labels, const emulator::Account& rule) {
    labels.emplace_back("resource", "");
    for (std::size_t i = 0; i < emulator::kResourceDrops; ++i) {
      labels.back().second = name_of(static_cast<emulator::ResourceDrop>(i));
      out.sample(labels, rule.dropped_for_resource[i].frames);
    }
  });
}

void add_in_flight(Prometheus& out, const Report& report) {
  out.family("longwire_impair_in_flight_frames", Type::gauge, "Frames inside the box.");
  for_each_rule(report, [&](const Labels& labels, const emulator::Account& rule) {
    out.sample(labels, rule.in_flight.frames);
  });
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
  out.family("longwire_impair_port_missed_frames_total", Type::counter,
             "Frames that a port's device dropped because they were not taken in time.");
  for (const auto& port : report.ports)
    out.sample({{"side", port.side}, {"port", port.port}}, port.missed);
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

/// Calls visit(labels, stages) for every listed rule of every direction.
template <class Visit>
void for_each_rules_stages(const Report& report, Visit visit) {
  for (const auto& direction : report.directions)
    for (const StagesReport& stages : direction.stages)
      visit(Labels{{"direction", direction.accounting.direction.name}, {"rule", stages.rule}},
            stages);
}

void add_acted(Prometheus& out, const Report& report) {
  out.family("longwire_impair_acted_frames_total", Type::counter,
             "Frames, and copies of them, that a stage of the rule acted on.");
  for_each_rules_stages(report, [&](Labels labels, const StagesReport& stages) {
    labels.emplace_back("stage", "");
    for (std::size_t i = 1; i < emulator::kStages; ++i) {
      labels.back().second = name_of(static_cast<emulator::Stage>(i));
      if (stages.stats.acted[i] > 0) out.sample(labels, stages.stats.acted[i]);
    }
  });
}

void add_queues(Prometheus& out, const Report& report) {
  out.family("longwire_impair_queued_bytes", Type::gauge, "Bytes in a rule's queue.");
  for_each_rules_stages(report, [&](const Labels& labels, const StagesReport& stages) {
    if (stages.queued_bytes) out.sample(labels, *stages.queued_bytes);
  });
}

}  // namespace

std::string to_prometheus(const Report& report) {
  Prometheus out;
  out.family("longwire_impair_run_seconds", Type::gauge, "For how long the box has been running.");
  out.sample({{"profile", report.profile}}, report.seconds);
  for (const Figure& figure : kFigures) add_figure(out, report, figure);
  add_wants(out, report);
  add_in_flight(out, report);
  add_acted(out, report);
  add_queues(out, report);
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

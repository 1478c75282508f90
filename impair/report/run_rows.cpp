// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/run_rows.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "impair/report/rule_report.h"

namespace lw::impair {
namespace {

/// Compares the stages' statistics with their parameters. Too few frames are not judged.
void add_checks(std::vector<report::RequestedRow>& rows, const std::string& place,
                const std::vector<emulator::Check>& checks) {
  for (const emulator::Check& check : checks) {
    const auto of = [&](double value) { return check_figure(value, check.unit); };
    rows.push_back(
        {fmt::format("{}: {} {}, of {} frames", place, name_of(check.stage), check.what,
                     format_count(check.frames)),
         of(check.asked),
         fmt::format("{} (allowed: {} to {})", of(check.seen), of(check.low), of(check.high)),
         check.enough() ? std::optional(check.holds()) : std::nullopt});
  }
}

/// The stages' checks, and those of configurations that a change has ended.
std::vector<report::RequestedRow> stage_rows(const Report& report) {
  std::vector<report::RequestedRow> rows;
  for (const DirectionReport& direction : report.directions)
    for (const StagesReport& stages : direction.stages)
      add_checks(rows, direction.accounting.direction.name + ", " + stages.rule, stages.checks);
  for (const EndedAudit& ended : report.ended_audits)
    add_checks(
        rows,
        fmt::format("{}, {}, until {}", ended.direction, ended.rule, format_duration(ended.end)),
        ended.checks);
  for (const RunAudit& run : report.run_audits)
    add_checks(rows, fmt::format("{}, {}, over the whole run", run.direction, run.rule),
               run.checks);
  return rows;
}

void add_account(report::AccountTable& table, std::string name, const emulator::Account& account,
                 bool holds) {
  table.rows.push_back({std::move(name), account.received.frames, account.created.frames,
                        account.sent.frames, account.consumed.frames,
                        account.dropped_by_rule.frames, account.wanting().frames,
                        account.in_flight.frames, holds});
}

report::AccountTable accounts_of(const Report& report) {
  report::AccountTable table{
      .identity =
          "received + created = sent + consumed + dropped by a rule + dropped for want of "
          "a resource + in flight",
      .columns = {"Direction, rule", "Received", "Created", "Sent", "Consumed", "Dropped by a rule",
                  "Dropped for want of a resource", "In flight", "Adds up"}};
  for (const DirectionReport& direction : report.directions) {
    const emulator::Account& whole = direction.accounting.direction;
    add_account(table, whole.name, whole, direction.accounting.holds());
    for (const emulator::Account* rule : listed_rules(direction))
      add_account(table, whole.name + ", " + shown_name(rule->name), *rule, rule->holds());
  }
  return table;
}

}  // namespace

report::RunRows page_rows(const Report& report) {
  return {.requested = stage_rows(report), .accounts = {accounts_of(report)}};
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/live_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "impair/report/rule_report.h"
#include "impair/report/run_verdict.h"
#include "report/live_view.h"

namespace lw::impair {
namespace {

using emulator::Account;
using emulator::Amount;
using report::Align;

constexpr std::size_t kMostRules = 100;  // on the screen

std::string time_text(std::int64_t ns) { return format_duration(Duration{ns}); }

std::string share_text(std::uint64_t part, std::uint64_t all) {
  return all == 0
             ? "-"
             : fmt::format("{:.4f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

double per_second(std::uint64_t now, std::uint64_t before, double seconds) {
  return seconds > 0 && now >= before ? static_cast<double>(now - before) / seconds : 0;
}

std::string bits_text(const Amount& now, const Amount& before, double seconds) {
  return format_bit_rate(8 * per_second(now.bytes, before.bytes, seconds));
}

std::string frames_text(const Amount& now, const Amount& before, double seconds) {
  return fmt::format("{:.0f}", per_second(now.frames, before.frames, seconds));
}

/// Returns direction `place` of a report; an empty report if it has none.
const DirectionReport& direction_in(const Report& report, std::size_t place) {
  static const DirectionReport kNone;
  return place < report.directions.size() ? report.directions[place] : kNone;
}

const Account& rule_in(const DirectionReport& direction, const std::string& name) {
  static const Account kNone;
  const auto found = std::ranges::find(direction.accounting.rules, name, &Account::name);
  return found == direction.accounting.rules.end() ? kNone : *found;
}

std::uint64_t marks_of(const StagesReport& stages) {
  return stages.stats.by(emulator::Stage::mark);
}

std::uint64_t marks_of(const DirectionReport& direction) {
  std::uint64_t marks = 0;
  for (const StagesReport& stages : direction.stages) marks += marks_of(stages);
  return marks;
}

/// Bytes in the queues of all rules; nothing if no rule has a queue.
std::optional<std::uint64_t> queued_in(const DirectionReport& direction) {
  std::optional<std::uint64_t> bytes;
  for (const StagesReport& stages : direction.stages)
    if (stages.queued_bytes) bytes = bytes.value_or(0) + *stages.queued_bytes;
  return bytes;
}

std::string queue_text(std::optional<std::uint64_t> bytes) {
  return bytes ? format_bytes(static_cast<double>(*bytes)) : "-";
}

const StagesReport* stages_in(const DirectionReport& direction, const std::string& rule) {
  const auto found = std::ranges::find(direction.stages, rule, &StagesReport::rule);
  return found == direction.stages.end() ? nullptr : &*found;
}

std::vector<std::string> rule_row(const DirectionReport& direction, const Account& rule,
                                  const Account& before, double seconds) {
  const StagesReport* stages = stages_in(direction, rule.name);
  return {shown_name(rule.name),
          direction.accounting.direction.name,
          fmt::to_string(rule.received.frames),
          bits_text(rule.received, before.received, seconds),
          fmt::to_string(rule.dropped_by_rule.frames),
          share_text(rule.dropped_by_rule.frames, rule.received.frames),
          stages ? share_text(marks_of(*stages), rule.received.frames) : "-",
          queue_text(stages ? stages->queued_bytes : std::nullopt)};
}

}  // namespace

report::LiveSection LiveReport::directions(const Report& now) {
  report::LiveSection section{.columns = {{"direction"},
                                          {"in", Align::right},
                                          {"frames/s", Align::right},
                                          {"out", Align::right},
                                          {"frames/s", Align::right},
                                          {"received", Align::right},
                                          {"sent", Align::right},
                                          {"dropped", Align::right},
                                          {"loss", Align::right},
                                          {"inside", Align::right},
                                          {""}}};
  const double seconds = now.seconds - before_.seconds;
  for (std::size_t i = 0; i < now.directions.size(); ++i) {
    const Account& account = now.directions[i].accounting.direction;
    const Account& before = direction_in(before_, i).accounting.direction;
    trends_[i % 2].add(per_second(account.sent.bytes, before.sent.bytes, seconds));
    section.rows.push_back(
        {account.name, bits_text(account.received, before.received, seconds),
         frames_text(account.received, before.received, seconds),
         bits_text(account.sent, before.sent, seconds),
         frames_text(account.sent, before.sent, seconds), fmt::to_string(account.received.frames),
         fmt::to_string(account.sent.frames), fmt::to_string(account.dropped_by_rule.frames),
         share_text(account.dropped_by_rule.frames, account.received.frames),
         fmt::to_string(account.in_flight.frames),
         trends_[i % 2].text(report::LiveView::unicode())});
  }
  return section;
}

report::LiveSection LiveReport::delays(const Report& now) const {
  report::LiveSection section{.columns = {{"delay"},
                                          {"p50", Align::right},
                                          {"p99", Align::right},
                                          {"max", Align::right},
                                          {"release error p99", Align::right},
                                          {"max", Align::right},
                                          {"queue", Align::right},
                                          {"CE", Align::right}}};
  for (const DirectionReport& each : now.directions) {
    const Account& account = each.accounting.direction;
    const auto spread = [](const Spread& figures, std::int64_t ns) {
      return figures.count > 0 ? time_text(ns) : "-";
    };
    section.rows.push_back(
        {account.name, spread(each.delay, each.delay.p50), spread(each.delay, each.delay.p99),
         spread(each.delay, each.delay.maximum), spread(each.release_error, each.release_error.p99),
         spread(each.release_error, each.release_error.maximum), queue_text(queued_in(each)),
         share_text(marks_of(each), account.received.frames)});
  }
  return section;
}

report::LiveSection LiveReport::rules(const Report& now) const {
  report::LiveSection section{.columns = {{"rule"},
                                          {"direction"},
                                          {"received", Align::right},
                                          {"rate", Align::right},
                                          {"dropped", Align::right},
                                          {"loss", Align::right},
                                          {"CE", Align::right},
                                          {"queue", Align::right}}};
  const double seconds = now.seconds - before_.seconds;
  for (std::size_t i = 0; i < now.directions.size(); ++i) {
    for (const Account& rule : now.directions[i].accounting.rules) {
      if (section.rows.size() >= kMostRules) {
        ++section.more;
        continue;
      }
      const Account& before = rule_in(direction_in(before_, i), rule.name);
      section.rows.push_back(rule_row(now.directions[i], rule, before, seconds));
    }
  }
  return section;
}

std::string LiveReport::line(const Report& now) const {
  const double seconds = now.seconds - before_.seconds;
  std::string text = fmt::format("{:>4.0f} s", now.seconds);
  for (std::size_t i = 0; i < now.directions.size(); ++i) {
    const Account& account = now.directions[i].accounting.direction;
    const Account& before = direction_in(before_, i).accounting.direction;
    text += fmt::format(
        "{} {} in {}, out {}, {} received, {} sent, {} dropped by rule, {} inside",
        i == 0 ? " " : ";", account.name, bits_text(account.received, before.received, seconds),
        bits_text(account.sent, before.sent, seconds), account.received.frames, account.sent.frames,
        account.dropped_by_rule.frames, account.in_flight.frames);
  }
  return text;
}

report::LiveModel LiveReport::model(const Report& now, bool ended) {
  if (ended) before_ = {};
  const bool replayed = now.command == "replay";
  report::LiveModel model{
      .title = title_,
      .status = fmt::format("{:.1f} s{}{}", now.seconds, replayed ? " of the capture" : "",
                            ended ? ", ended" : ""),
      .sections = {directions(now), delays(now), rules(now)},
      .line = line(now)};
  model.show(verdict_of(now));
  before_ = now;
  return model;
}

}  // namespace lw::impair

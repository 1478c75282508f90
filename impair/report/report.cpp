// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/quantity.h"

namespace lw::impair {

bool Report::accounts_hold() const noexcept {
  return std::ranges::all_of(directions,
                             [](const DirectionReport& d) { return d.accounting.holds(); });
}

bool Report::records_hold() const noexcept {
  const auto complete = [](const auto& file) { return file.missing() == 0; };
  return (!ledger || complete(*ledger)) && std::ranges::all_of(captures, complete);
}

bool Report::releases_hold() const noexcept {
  return std::ranges::all_of(directions, &DirectionReport::none_left_early);
}

bool Report::resources_hold() const noexcept {
  return std::ranges::all_of(directions, [](const DirectionReport& d) {
    return unasked_losses(d.accounting.direction).frames == 0;
  });
}

bool Report::ports_hold() const noexcept {
  return std::ranges::all_of(ports, [](const PortReport& port) {
    return port.unseen() + port.errors + port.unsent() == 0;
  });
}

bool Report::links_hold() const noexcept {
  return std::ranges::all_of(ports,
                             [](const PortReport& port) { return port.link_losses.count == 0; });
}

bool Report::stages_hold() const noexcept {
  const auto holds = [](const emulator::Check& check) { return check.holds(); };
  for (const DirectionReport& direction : directions) {
    if (!direction.events.hits.holds()) return false;
    for (const StagesReport& stages : direction.stages)
      if (!std::ranges::all_of(stages.checks, holds)) return false;
  }
  return true;
}

namespace {

std::string frames(const emulator::Amount& amount) {
  return fmt::format("{:>12} frames  {:>12}", amount.frames,
                     format_bytes(static_cast<double>(amount.bytes)));
}

/// Returns a line of the report; empty if no frame was counted.
std::string line(std::string_view what, const emulator::Amount& amount) {
  return amount.frames == 0 ? "" : fmt::format("  {:<22}{}\n", what, frames(amount));
}

std::string spread(std::string_view what, const Spread& spread) {
  if (spread.count == 0) return "";
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  return fmt::format("  {:<22}p50 {:.3f}  p99 {:.3f}  p99.9 {:.3f}  max {:.3f} us\n", what,
                     us(spread.p50), us(spread.p99), us(spread.p999), us(spread.maximum));
}

std::string account(const emulator::Account& account) {
  std::string text = fmt::format("  {:<22}{}\n", "received", frames(account.received));
  text += line("created", account.created);
  text += fmt::format("  {:<22}{}\n", "sent", frames(account.sent));
  text += line("consumed", account.consumed);
  text += line("dropped by rule", account.dropped_by_rule);
  for (std::size_t i = 0; i < emulator::kResourceDrops; ++i)
    text += line(fmt::format("dropped: {}", name_of(static_cast<emulator::ResourceDrop>(i))),
                 account.dropped_for_resource[i]);
  return text + line("in flight", account.in_flight);
}

std::string rule_line(const emulator::Account& rule) {
  if (rule.received.frames == 0) return "";
  const double lost =
      static_cast<double>(rule.dropped_by_rule.frames) / static_cast<double>(rule.received.frames);
  return fmt::format("    {:<20}{:>12} frames, {} dropped by it ({:.4f} %)\n", rule.name,
                     rule.received.frames, rule.dropped_by_rule.frames, lost * 100);
}

/// Formats the figure of a check with its unit.
std::string figure(double value, emulator::Figure figure) {
  using emulator::Figure;
  switch (figure) {
    case Figure::share:
      return fmt::format("{:.6g} %", value * 100);
    case Figure::frames:
      return fmt::format("{:.6g} frames", value);
    case Figure::nanoseconds:
      return fmt::format("{:.6g} us", value * 1e-3);
    case Figure::bits_per_second:
      return format_bit_rate(std::max(0.0, value));
    case Figure::bytes:
      return format_bytes(std::max(0.0, value));
    case Figure::chi_square:
      return fmt::format("chi-square {:.6g}", value);
  }
  return {};
}

std::string check_line(const std::string& rule, const emulator::Check& check) {
  const auto of = [&](double value) { return figure(value, check.figure); };
  return fmt::format("    {:<20}{} {}, asked {}, bounds {} to {}: {}\n", rule, check.what,
                     of(check.seen), of(check.asked), of(check.low), of(check.high),
                     check.holds() ? "holds" : "DOES NOT HOLD");
}

std::string stages(const StagesReport& report) {
  std::string text;
  for (const auto& check : report.checks) text += check_line(report.rule, check);
  for (const std::string& line : figures_of(report.stats).lines)
    text += fmt::format("    {:<20}{}\n", report.rule, line);
  return text;
}

std::string events(const EventsReport& report) {
  std::string text;
  for (const auto& event : report.outcomes)
    text += fmt::format("    event {:<14}{:>12} of {} happened\n", event.name, event.happened,
                        event.all);
  if (const emulator::EventHits& hits = report.hits; hits.packets > 0)
    text += fmt::format("    {:<20}{} packets, {} carried out, {} lost before: {}\n",
                        "events fell on", hits.packets, hits.carried_out, hits.lost_before,
                        hits.holds() ? "holds" : "DOES NOT HOLD");
  if (report.untracked)
    text += fmt::format("  {:<22}{:>12} to QPs beyond the {} that are tracked\n", "untracked",
                        report.untracked, emulator::Events::kTrackedQps);
  return text;
}

std::string direction(const DirectionReport& report) {
  std::string text =
      fmt::format("{}\n{}", report.accounting.direction.name, account(report.accounting.direction));
  for (const auto& rule : report.accounting.rules) text += rule_line(rule);
  for (const auto& each : report.stages) text += stages(each);
  text += events(report.events);
  if (report.accounting.fragments)
    text += fmt::format("  {:<22}{:>12} passed untouched\n", "IP fragments",
                        report.accounting.fragments);
  if (report.accounting.truncated)
    text += fmt::format("  {:<22}{:>12} passed untouched\n", "without a whole BTH",
                        report.accounting.truncated);
  text += spread("release error", report.release_error);
  return text + spread("passing through took", report.pass_latency);
}

std::string port_line(const PortReport& port) {
  std::string text;
  if (const LinkLosses& losses = port.link_losses; losses.count > 0)
    text +=
        fmt::format("{} port {}: lost its link {} time{}, {} without it\n", port.side, port.port,
                    losses.count, losses.count == 1 ? "" : "s", format_duration(losses.time));
  if (port.unseen() + port.errors > 0)
    text += fmt::format(
        "{} port {}: never seen here: {} missed by the device, {} for want of a "
        "buffer, {} longer than a buffer; {} in error\n",
        port.side, port.port, port.missed, port.no_buffer, port.too_long, port.errors);
  if (port.unsent() == 0) return text;
  text += fmt::format(
      "{} port {}: not sent: {} longer than the MTU of {} B, {} dropped by the "
      "interface\n",
      port.side, port.port, port.unsent_too_long, port.mtu, port.unsent_dropped);
  if (port.unsent_too_long > 0)
    text +=
        "  raise it as root: ip link set INTERFACE mtu BYTES (veth: at both ends; a second VLAN "
        "tag needs 4 more)\n";
  return text;
}

std::string lost_text(std::uint64_t lost) {
  return lost > 0 ? fmt::format(", {} LOST: the file could not be written", lost) : "";
}

/// Lists the frames that one direction lost for lack of a resource, and the remedy.
std::string losses(const emulator::Account& account) {
  const emulator::Amount lost = unasked_losses(account), came = account.received + account.created;
  if (lost.frames == 0) return "";
  const auto of = [&](emulator::ResourceDrop want) {
    return account.dropped_for_resource[static_cast<std::size_t>(want)].frames;
  };
  std::string text = fmt::format(
      "{}: THE BOX LOST {} FRAMES ({:.3g} %) THAT NO RULE DROPPED", account.name, lost.frames,
      100.0 * static_cast<double>(lost.frames) / static_cast<double>(came.frames));
  if (of(emulator::ResourceDrop::no_room) + of(emulator::ResourceDrop::no_buffer) > 0)
    text += "; ask for more in [capacity]: a higher rate, a smaller smallest_frame, or reserve";
  if (of(emulator::ResourceDrop::egress_full) > 0)
    text += "; the port or the peer behind it takes frames too slowly";
  return text + "\n";
}

std::string scenario(const ScenarioReport& report) {
  std::string text = fmt::format("scenario: {} of {} steps", report.done, report.all);
  if (report.latest.count() > 0)
    text += fmt::format(", at most {} late", format_duration(report.latest));
  if (report.failed) text += fmt::format(", {} LEFT OUT", report.failed);
  for (const OverdueAct& act : report.overdue)
    text += fmt::format(", {} OF {} WERE DUE AND NOT DONE", act.steps, act.name);
  return text + "\n";
}

Json of_scenario(const ScenarioReport& report) {
  Json json = {{"done", report.done},
               {"failed", report.failed},
               {"all", report.all},
               {"latest_ns", report.latest.count()}};
  for (const OverdueAct& act : report.overdue)
    json["overdue"].push_back({{"name", act.name}, {"steps", act.steps}});
  return json;
}

}  // namespace

std::string capture_text(const CaptureReport& capture) {
  return fmt::format("capture {}: {} frames, {} skipped{}\n", capture.file, capture.frames,
                     capture.skipped, lost_text(capture.lost));
}

Json capture_json(const CaptureReport& capture) {
  return {{"file", capture.file},
          {"frames", capture.frames},
          {"skipped", capture.skipped},
          {"missing", capture.missing()},
          {"active", capture.active}};
}

std::string to_text(const Report& report) {
  std::string text;
  for (const auto& each : report.directions) text += direction(each);
  for (const auto& port : report.ports) text += port_line(port);
  if (report.stamps_backwards)
    text += fmt::format("{} stamps ran backwards: taken as the latest before them\n",
                        report.stamps_backwards);
  if (report.scenario) text += scenario(*report.scenario);
  if (report.ledger)
    text +=
        fmt::format("ledger {}: {} records, {} skipped{}\n", report.ledger->file,
                    report.ledger->records, report.ledger->skipped, lost_text(report.ledger->lost));
  for (const CaptureReport& capture : report.captures) text += capture_text(capture);
  if (!report.stages_hold())
    text += "A STAGE DID NOT DO WHAT IT WAS ASKED: see the lines that do not hold\n";
  for (const auto& each : report.directions) text += losses(each.accounting.direction);
  if (!report.ports_hold())
    text += "FRAMES WERE LOST AT THE PORTS, not by a rule: see the lines of the ports\n";
  if (!report.links_hold()) text += "A PORT LOST ITS LINK: see the lines of the ports\n";
  if (!report.releases_hold())
    text += "FRAMES LEFT BEFORE THEY WERE DUE: see the smallest release error in --json\n";
  return text + (report.accounts_hold()
                     ? "every frame is accounted for\n"
                     : "THE ACCOUNTS DO NOT ADD UP: see --json for every figure\n");
}

namespace {

using Json = nlohmann::ordered_json;

Json of_amount(const emulator::Amount& amount) {
  return {{"frames", amount.frames}, {"bytes", amount.bytes}};
}

Json of_account(const emulator::Account& account) {
  Json want;
  for (std::size_t i = 0; i < emulator::kResourceDrops; ++i)
    want[std::string(name_of(static_cast<emulator::ResourceDrop>(i)))] =
        of_amount(account.dropped_for_resource[i]);
  return {{"name", account.name},
          {"received", of_amount(account.received)},
          {"created", of_amount(account.created)},
          {"sent", of_amount(account.sent)},
          {"consumed", of_amount(account.consumed)},
          {"dropped_by_rule", of_amount(account.dropped_by_rule)},
          {"dropped_for_resource", std::move(want)},
          {"in_flight", of_amount(account.in_flight)},
          {"holds", account.holds()}};
}

Json of_spread(const Spread& spread) {
  return {{"count", spread.count}, {"min", spread.minimum}, {"p50", spread.p50},
          {"p99", spread.p99},     {"p99.9", spread.p999},  {"max", spread.maximum}};
}

Json of_check(const emulator::Check& check) {
  return {{"stage", name_of(check.stage)},
          {"what", check.what},
          {"frames", check.frames},
          {"asked", check.asked},
          {"seen", check.seen},
          {"low", check.low},
          {"high", check.high},
          {"holds", check.holds()}};
}

Json of_stages(const StagesReport& report) {
  const emulator::RuleStats& stats = report.stats;
  Json json = {{"rule", report.rule}, {"acted", Json::object()}, {"checks", Json::array()}};
  for (std::size_t i = 1; i < emulator::kStages; ++i)
    if (stats.acted[i] > 0)
      json["acted"][name_of(static_cast<emulator::Stage>(i))] = stats.acted[i];
  for (const auto& field : figures_of(stats).fields) {
    Json& group = field.group.empty() ? json : json[std::string(field.group)];
    group[std::string(field.name)] = field.is_list ? Json(field.list) : Json(field.value);
  }
  if (report.queued_bytes) json["queued_bytes"] = *report.queued_bytes;
  for (const emulator::Check& check : report.checks) json["checks"].push_back(of_check(check));
  return json;
}

/// Share of the received frames that rules dropped, or that were lost for lack of a resource; null
/// if no frame was received.
Json loss_share(const emulator::Account& account) {
  if (account.received.frames == 0) return nullptr;
  std::uint64_t dropped = account.dropped_by_rule.frames;
  for (const emulator::Amount& want : account.dropped_for_resource) dropped += want.frames;
  return static_cast<double>(dropped) / static_cast<double>(account.received.frames);
}

Json of_direction(const DirectionReport& report) {
  Json json = of_account(report.accounting.direction);
  json["holds"] = report.accounting.holds();
  json["loss_share"] = loss_share(report.accounting.direction);
  json["fragments"] = report.accounting.fragments;
  json["truncated"] = report.accounting.truncated;
  json["delay_ns"] = of_spread(report.delay);
  json["release_error_ns"] = of_spread(report.release_error);
  json["pass_latency_ns"] = of_spread(report.pass_latency);
  json["rules"] = Json::array();
  for (const auto& rule : report.accounting.rules)
    if (is_listed(report.accounting, rule)) json["rules"].push_back(of_account(rule));
  json["stages"] = Json::array();
  for (const auto& stages : report.stages) json["stages"].push_back(of_stages(stages));
  for (const auto& event : report.events.outcomes)
    json["events"].push_back(
        {{"name", event.name}, {"happened", event.happened}, {"all", event.all}});
  if (const emulator::EventHits& hits = report.events.hits; hits.packets > 0)
    json["event_packets"] = {{"fell_on", hits.packets},
                             {"carried_out", hits.carried_out},
                             {"lost_before", hits.lost_before},
                             {"holds", hits.holds()}};
  if (report.events.untracked) json["untracked"] = report.events.untracked;
  return json;
}

Json of_port(const PortReport& port) {
  return {{"side", port.side},
          {"port", port.port},
          {"received", port.received},
          {"sent", port.sent},
          {"missed", port.missed},
          {"no_buffer", port.no_buffer},
          {"errors", port.errors},
          {"too_long", port.too_long},
          {"unsent_too_long", port.unsent_too_long},
          {"unsent_dropped", port.unsent_dropped},
          {"link_losses", port.link_losses.count},
          {"without_link_ns", port.link_losses.time.count()}};
}

}  // namespace

nlohmann::ordered_json to_json(const Report& report) {
  Json json = {{"command", report.command},
               {"profile", report.profile},
               {"seed", report.seed},
               {"seconds", report.seconds},
               {"identity_holds", report.accounts_hold()},
               {"stages_hold", report.stages_hold()},
               {"releases_hold", report.releases_hold()},
               {"resources_hold", report.resources_hold()},
               {"ports_hold", report.ports_hold()},
               {"links_hold", report.links_hold()},
               {"records_hold", report.records_hold()},
               {"directions", Json::array()}};
  for (const auto& direction : report.directions)
    json["directions"].push_back(of_direction(direction));
  for (const auto& port : report.ports) json["ports"].push_back(of_port(port));
  if (report.scenario) json["scenario"] = of_scenario(*report.scenario);
  if (!report.captures.empty()) json["capture"] = capture_json(report.captures.back());
  for (std::size_t i = 0; i + 1 < report.captures.size(); ++i)
    json["earlier_captures"].push_back(capture_json(report.captures[i]));
  if (report.ledger)
    json["ledger"] = {{"file", report.ledger->file},
                      {"records", report.ledger->records},
                      {"skipped", report.ledger->skipped},
                      {"missing", report.ledger->missing()}};
  if (report.held_up) json["held_up_ns"] = report.held_up->count();
  if (report.stamps_backwards) json["stamps_backwards"] = report.stamps_backwards;
  return json;
}

}  // namespace lw::impair

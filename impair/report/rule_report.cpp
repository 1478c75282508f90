// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/rule_report.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/figure.h"
#include "core/quantity.h"
#include "wire/opcode.h"

namespace lw::impair {
namespace {

using emulator::EventConfig;
using emulator::MatchConfig;
using Texts = std::vector<std::string>;

void add(Texts& parts, std::string_view key, const Texts& values) {
  if (!values.empty()) parts.push_back(fmt::format("{} {}", key, fmt::join(values, " or ")));
}

}  // namespace

Texts texts_of(const std::vector<emulator::NumberRange>& ranges) {
  Texts texts;
  for (const auto& range : ranges)
    texts.push_back(range.first == range.last ? fmt::format("{}", range.first)
                                              : fmt::format("{}-{}", range.first, range.last));
  return texts;
}

Texts texts_of(const std::vector<emulator::AddressPrefix>& prefixes) {
  Texts texts;
  for (const auto& prefix : prefixes)
    texts.push_back(fmt::format("{}/{}", to_string(prefix.address), prefix.length));
  return texts;
}

Texts opcodes_of(const MatchConfig& match) {
  Texts texts;
  for (unsigned opcode = 0; match.opcodes && opcode < 256; ++opcode) {
    if (!match.opcodes->test(opcode)) continue;
    const auto* info = wire::find_opcode(static_cast<std::uint8_t>(opcode));
    texts.push_back(info ? std::string(info->name) : fmt::format("{:#04x}", opcode));
  }
  return texts;
}

Texts kinds_of(const MatchConfig& match) {
  Texts texts;
  for (std::size_t kind = 0; match.kinds && kind < emulator::kPacketKinds; ++kind)
    if (match.kinds->test(kind))
      texts.emplace_back(name_of(static_cast<emulator::PacketKind>(kind)));
  return texts;
}

Texts tunnels_of(const MatchConfig& match) {
  static constexpr std::string_view kNames[] = {"vxlan", "geneve", "srv6"};  // as emulator::Tunnel
  Texts texts;
  for (std::size_t i = 0; match.tunnel && i < emulator::kTunnels; ++i)
    if (match.tunnel->kinds.test(i)) texts.emplace_back(kNames[i]);
  return texts;
}

namespace {

std::string psn_of(const EventConfig& event) {
  switch (event.psn_from) {
    case emulator::PsnFrom::absolute:
      return fmt::format(" with psn {}", event.psn);
    case emulator::PsnFrom::start:
      return fmt::format(" with psn_offset {}", event.psn);
    case emulator::PsnFrom::any:
      break;
  }
  return "";
}

std::string qp_of(const EventConfig& event) {
  if (event.qp) return fmt::format(" to qp {}", *event.qp);
  return event.qpn ? fmt::format(" to qpn {}", *event.qpn) : "";
}

}  // namespace

std::string to_text(const MatchConfig& match) {
  Texts parts = {match.frames == emulator::MatchedFrames::rocev2 ? "rocev2" : "all"};
  add(parts, "source", texts_of(match.source));
  add(parts, "destination", texts_of(match.destination));
  add(parts, "vlan", texts_of(match.vlan));
  add(parts, "dscp", texts_of(match.dscp));
  add(parts, "opcode", opcodes_of(match));
  add(parts, "kind", kinds_of(match));
  add(parts, "dst_qp", texts_of(match.dest_qp));
  add(parts, "psn", texts_of(match.psn));
  add(parts, "tunnel", tunnels_of(match));
  if (match.tunnel) add(parts, "vni", texts_of(match.tunnel->vni));
  if (match.expression) parts.push_back(fmt::format("filter \"{}\"", match.expression->text));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string to_text(const EventConfig& event) {
  std::string text = fmt::format("{} {}{}{}: {}", name_of(event.on), event.occurrence,
                                 psn_of(event), qp_of(event), name_of(event.action));
  if (event.action == emulator::EventAction::delay)
    text += fmt::format(" {}", format_set_duration(event.delay));
  return text;
}

namespace {

template <class Config>
std::string_view ways_of(const Config& config) {
  using enum emulator::Direction;
  if (config.applies(west_to_east) && config.applies(east_to_west)) return "both ways";
  return name_of(config.applies(west_to_east) ? west_to_east : east_to_west);
}

}  // namespace

std::string rules_text(const config::ImpairProfile& profile) {
  std::string text;
  for (const auto& rule : profile.rules) {
    text += fmt::format("rule {}: {}, {}\n", rule.name, to_text(rule.match), ways_of(rule));
    const auto stages = stage_texts(rule);
    for (const auto& [stage, what] : stages) text += fmt::format("  {:<28}{}\n", stage, what);
    if (stages.empty()) text += "  passes at once\n";
  }
  return text;
}

std::string events_text(const config::ImpairProfile& profile) {
  std::string text;
  for (const auto& event : profile.events)
    text += fmt::format("event {}: {}, {}\n", event.name, ways_of(event), to_text(event));
  return text;
}

std::vector<EventRow> event_rows(std::span<const EventConfig> events) {
  std::vector<EventRow> rows;
  for (const auto& event : events) rows.push_back({event.name, ways_of(event), to_text(event)});
  return rows;
}

namespace {

/// The keys of a [[rule]]. A profile's keys are sorted by table and name: with 10,000 rules, a walk
/// over all of them for each rule took 3 s.
std::vector<std::pair<std::string, std::string>> keys_of(const std::string& rule,
                                                         const config::ImpairProfile& profile) {
  std::vector<std::pair<std::string, std::string>> keys;
  if (!profile.keys) return keys;
  const auto owner = [](const config::KeyValue& each) { return std::tie(each.table, each.name); };
  const std::string table = "rule";
  for (const config::KeyValue& each :
       std::ranges::equal_range(*profile.keys, std::tie(table, rule), {}, owner))
    keys.emplace_back(each.key, each.value);
  return keys;
}

}  // namespace

std::vector<RuleRow> rule_rows(const config::ImpairProfile& profile) {
  constexpr std::uint32_t kFrame = 1024;  // bytes, for the expected loss
  std::vector<RuleRow> rows;
  for (const auto& rule : profile.rules)
    rows.push_back({rule.name, to_text(rule.match), ways_of(rule), rule.delay,
                    expected_loss(rule.loss, kFrame), stage_texts(rule),
                    std::make_shared<const emulator::RuleConfig>(rule),
                    keys_of(rule.name, profile)});
  return rows;
}

namespace {

std::string links_text(const config::LinkChange& links) {
  const std::string_view port = links.west && links.east ? "both ports"
                                : links.west             ? "west"
                                                         : "east";
  return fmt::format("{} {}", port, links.up ? "up" : "down");
}

std::string edit_text(const config::Edit& edit) {
  const std::string whose = edit.table.empty() ? "" : edit.name + " ";
  return fmt::format("{}{} = {}", whose, edit.key, describe(*edit.parsed));
}

}  // namespace

std::string step_text(const config::ScenarioStep& step) {
  std::string text = step.links ? links_text(*step.links) : "";
  for (const auto& edit : step.edits) text += (text.empty() ? "" : ", ") + edit_text(edit);
  return text;
}

std::string scenario_text(const config::ImpairProfile& profile) {
  std::string text;
  for (const auto& act : *profile.acts) {
    text += fmt::format("{} {}: {}", act.kind, act.name,
                        act.time ? "at " + format_set_duration(*act.time) : "on command");
    if (act.ramp > 0)
      text += fmt::format(", over {} in {} steps", format_set_duration(act.over), act.ramp);
    text += '\n';
    for (const auto& step : act.steps)
      text += fmt::format("  + {:<26}{}\n",
                          format_set_duration(step.at + (act.ramp ? act.over : Duration{})),
                          step_text(step));
  }
  return text;
}

std::vector<ActRow> act_rows(const config::ImpairProfile& profile) {
  std::vector<ActRow> rows;
  for (const auto& act : *profile.acts) {
    ActRow& row = rows.emplace_back(std::string(act.kind), act.name, act.time);
    if (act.ramp > 0) row.ramp = {act.over, act.ramp};
    for (const auto& step : act.steps) row.steps.push_back({step.at, step_text(step)});
  }
  return rows;
}

const FigureTable& RuleRow::figures() {
  using Row = FigureOf<RuleRow>;
  static constexpr Figure kRows[] = {
      Row::of<&RuleRow::name>("name", "Name of the rule."),
      Row::of<&RuleRow::match>("match", "Frames that it matches."),
      Row::of<&RuleRow::direction>("direction", "Direction, or both ways."),
      Row::of<&RuleRow::delay>("delay_ns", "Constant delay; null without one.", Unit::ns).or_null(),
      Row::of<&RuleRow::loss>("loss", "Expected share of lost frames of 1024 B, 0 to 1."),
      Row::of<&RuleRow::stages>("stages", "Its stages, described.").if_any(),
      Row::with_table<[](const RuleRow& row) { return row.settings.get(); },
                      &emulator::rule_settings>(
          "settings",
          "Settings of its stages: times in ns, rates in bits per second, shares of 1."),
      Row::of<&RuleRow::keys>("keys", "Its keys in the profile, with their values as TOML.")
          .if_any()};
  static constexpr FigureTable kTable{"A rule of an impair profile.", kRows};
  return kTable;
}

const FigureTable& EventRow::figures() {
  using Row = FigureOf<EventRow>;
  static constexpr Figure kRows[] = {
      Row::of<&EventRow::name>("name", "Name of the event."),
      Row::of<&EventRow::direction>("direction", "Direction, or both ways."),
      Row::of<&EventRow::what>("what", "What it does to which packets.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& ActRow::Ramp::figures() {
  using Row = FigureOf<Ramp>;
  static constexpr Figure kRows[] = {Row::of<&Ramp::over>("over_ns", "Duration.", Unit::ns),
                                     Row::of<&Ramp::steps>("steps", "Number of steps.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& ActRow::Step::figures() {
  using Row = FigureOf<Step>;
  static constexpr Figure kRows[] = {
      Row::of<&Step::after>("after_ns", "Time after the begin.", Unit::ns),
      Row::of<&Step::what>("what", "The change.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& ActRow::figures() {
  using Row = FigureOf<ActRow>;
  static constexpr Figure kRows[] = {
      Row::of<&ActRow::kind>("kind", "at, protection or flap."),
      Row::of<&ActRow::name>("name", "Name."),
      Row::of<&ActRow::time>("time_ns", "Begin after the start; null for one on command.", Unit::ns)
          .or_null(),
      Row::of<&ActRow::ramp>("ramp", "Ramp between two values."),
      Row::of<&ActRow::steps>("steps", "Its steps.").if_any()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

std::string shown_name(const std::string& rule) { return rule == "untouched" ? "(no rule)" : rule; }

}  // namespace lw::impair

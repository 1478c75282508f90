// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/impair/profile.h"
#include "emulator/events/event.h"
#include "emulator/match/match.h"

namespace lw::impair {

/// Formats a match with the words of the profile: "rocev2", "all", "rocev2, dst_qp 16-31, kind
/// nak".
std::string to_text(const emulator::MatchConfig& match);

/// The name of a rule in texts: "(no rule)" for frames that no rule matches, in JSON "untouched".
std::string shown_name(const std::string& rule);

/// Format the values of a match with the words of the profile: "5-9", "10.0.0.0/8", "RC SEND
/// FIRST", "nak".
std::vector<std::string> texts_of(const std::vector<emulator::NumberRange>& ranges);
std::vector<std::string> texts_of(const std::vector<emulator::AddressPrefix>& prefixes);
std::vector<std::string> opcodes_of(const emulator::MatchConfig& match);
std::vector<std::string> kinds_of(const emulator::MatchConfig& match);
std::vector<std::string> tunnels_of(const emulator::MatchConfig& match);

/// Formats an event: the packet that it waits for, and its action: "request 1 with psn 7 to qp 2:
/// drop".
std::string to_text(const emulator::EventConfig& event);

/// Format a profile's rules with their stages, its events, and its scenario with the steps of each
/// act.
std::string rules_text(const config::ImpairProfile& profile);
std::string events_text(const config::ImpairProfile& profile);
std::string scenario_text(const config::ImpairProfile& profile);
/// Formats one step: "west down", "long haul delay = 1ms".
std::string step_text(const config::ScenarioStep& step);

/// A rule, an event and an act of the scenario in JSON.
struct RuleRow {
  std::string name, match;
  std::string_view direction;
  std::optional<Duration> delay = {};
  double loss = 0;
  emulator::StageTexts stages = {};
  std::shared_ptr<const emulator::RuleConfig> settings = {};   // not null
  std::vector<std::pair<std::string, std::string>> keys = {};  // as TOML

  static const FigureTable& figures();
};
struct EventRow {
  std::string name;
  std::string_view direction;
  std::string what;

  static const FigureTable& figures();
};
struct ActRow {
  struct Ramp {
    Duration over{};
    std::size_t steps = 0;

    static const FigureTable& figures();
  };
  struct Step {
    Duration after{};
    std::string what;

    static const FigureTable& figures();
  };
  std::string kind, name;
  std::optional<Duration> time = {};
  std::optional<Ramp> ramp = {};
  std::vector<Step> steps = {};

  static const FigureTable& figures();
};
std::vector<RuleRow> rule_rows(const config::ImpairProfile& profile);
std::vector<EventRow> event_rows(std::span<const emulator::EventConfig> events);
std::vector<ActRow> act_rows(const config::ImpairProfile& profile);

}  // namespace lw::impair

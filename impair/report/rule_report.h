// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/impair/profile.h"
#include "emulator/events/event.h"
#include "emulator/match/match.h"

namespace lw::impair {

/// Formats a match with the words of the profile: "rocev2", "all", "rocev2, dst_qp 16-31, kind
/// nak".
std::string to_text(const emulator::MatchConfig& match);

/// Format the values of a match with the words of the profile: "5-9", "10.0.0.0/8", "RC SEND
/// FIRST", "nak".
std::vector<std::string> texts_of(const std::vector<emulator::NumberRange>& ranges);
std::vector<std::string> texts_of(const std::vector<emulator::AddressPrefix>& prefixes);
std::vector<std::string> opcodes_of(const emulator::MatchConfig& match);
std::vector<std::string> kinds_of(const emulator::MatchConfig& match);

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
/// Format rules, events and scenario as JSON arrays of objects.
nlohmann::ordered_json rules_json(const config::ImpairProfile& profile);
nlohmann::ordered_json events_json(std::span<const emulator::EventConfig> events);
nlohmann::ordered_json scenario_json(const config::ImpairProfile& profile);

}  // namespace lw::impair

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

/// What a rule matches, in the profile's words: "rocev2", "all", "rocev2, dst_qp 16-31, kind nak".
std::string to_text(const emulator::MatchConfig& match);

/// Values of a match in the profile's words: "5-9", "10.0.0.0/8", "RC SEND FIRST", "nak".
std::vector<std::string> texts_of(const std::vector<emulator::NumberRange>& ranges);
std::vector<std::string> texts_of(const std::vector<emulator::AddressPrefix>& prefixes);
std::vector<std::string> opcodes_of(const emulator::MatchConfig& match);
std::vector<std::string> kinds_of(const emulator::MatchConfig& match);

/// What an event waits for and does: "request 1 with psn 7 to qp 2: drop".
std::string to_text(const emulator::EventConfig& event);

/// A profile's rules with each of their stages, events, and acts with each of their steps, in
/// words.
std::string rules_text(const config::ImpairProfile& profile);
std::string events_text(const config::ImpairProfile& profile);
std::string scenario_text(const config::ImpairProfile& profile);
/// One step: "west down", "long haul delay = 1ms".
std::string step_text(const config::ScenarioStep& step);
/// The same as JSON arrays of objects.
nlohmann::ordered_json rules_json(const config::ImpairProfile& profile);
nlohmann::ordered_json events_json(std::span<const emulator::EventConfig> events);
nlohmann::ordered_json scenario_json(const config::ImpairProfile& profile);

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/impair/profile.h"

namespace lw::impair {

/// A sentence about one key of a profile: a match key, or the name of a stage.
struct Statement {
  std::string_view key;
  std::string text;
};

/// Which frames a match selects: a sentence per condition, all of which must hold.
std::vector<Statement> explain_match(const emulator::MatchConfig& match);
/// What the stages of a rule do, in the order in which a frame passes them.
std::vector<Statement> explain_stages(const emulator::RuleConfig& rule);
/// One event: the packet that it waits for, and what happens to it.
std::string explain_event(const emulator::EventConfig& event);

/// The whole profile in sentences: path, rules in match order, unmatched frames, events, scenario.
std::string explanation_text(const config::ImpairProfile& profile);
/// The same sentences as a JSON object.
nlohmann::ordered_json explanation_json(const config::ImpairProfile& profile);

}  // namespace lw::impair

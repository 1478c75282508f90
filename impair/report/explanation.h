// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/impair/profile.h"
#include "core/figure.h"

namespace lw::impair {

/// A sentence about one key of a profile. The key is a match key or the name of a stage.
struct Statement {
  std::string_view key;
  std::string text;
};

/// Explains which frames a match selects: one sentence per condition. All conditions must hold.
std::vector<Statement> explain_match(const emulator::MatchConfig& match);
/// Explains what the stages of a rule do, in the order in which a frame passes them.
std::vector<Statement> explain_stages(const emulator::RuleConfig& rule);
/// Explains an event: the packet that it waits for, and what happens to that packet.
std::string explain_event(const emulator::EventConfig& event);

/// Explains the whole profile: path, rules in match order, unmatched frames, events, scenario.
std::string explanation_text(const config::ImpairProfile& profile);
/// The table of the sentences of explanation_text(), of a config::ImpairProfile.
const FigureTable& explanation_figures();
inline constexpr JsonOutput kExplanationOutput{.name = "profile_explanation",
                                               .title = "roce-impair explain --json",
                                               .figures = &explanation_figures};

}  // namespace lw::impair

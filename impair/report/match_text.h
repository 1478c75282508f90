// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "emulator/events/event.h"
#include "emulator/match/match.h"

namespace lw::impair {

/// What a rule matches, in the profile's words: "rocev2", "all", "rocev2, dst_qp 16-31, kind nak".
std::string to_text(const emulator::MatchConfig& match);

/// What an event waits for and does: "request 1 with psn 7 to qp 2: drop".
std::string to_text(const emulator::EventConfig& event);

}  // namespace lw::impair

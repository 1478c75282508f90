// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/matching/match_state.h"

namespace lw::dissect {

/// Matches changed frames, which only one point saw: frames with one ICRC and length; frames of one
/// flow, PSN and opcode; frames that are equal from the BTH on; and frames of one length that came
/// when the other was due, if one of destination QP, PSN, opcode and the rest is equal (without a
/// bad ICRC: half of them).
void match_changed(MatchState& state, const Directions& directions);

}  // namespace lw::dissect

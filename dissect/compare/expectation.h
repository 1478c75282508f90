// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>

#include "core/question.h"
#include "dissect/compare/ledger_check.h"
#include "dissect/matching/comparison.h"

namespace lw::dissect {

/// The questions of `compare`: figures of each direction, and those that it asks for itself.
std::span<const Question> compare_questions() noexcept;

/// Adds the figures of each direction that has frames.
void observe_directions(Judge& judge, const Comparison& comparison);

/// Adds whether the ledger explains what happened in a direction.
void observe_ledger(Judge& judge, const char* direction, const LedgerFindings& found);

}  // namespace lw::dissect

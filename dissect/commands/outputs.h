// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/figure.h"
#include "core/question.h"

namespace lw::dissect {

/// The table of a row of `fields`.
const FigureTable& field_figures();
inline constexpr JsonOutput kFieldOutput{
    .name = "field", .title = "roce-dissect fields --json", .figures = &field_figures};

/// The table of what `explain` prints.
const FigureTable& explanation_figures();
inline constexpr JsonOutput kExplanationOutput{.name = "explanation",
                                               .title = "roce-dissect explain --json",
                                               .figures = &explanation_figures,
                                               .version = 2};

/// All outputs of JSON.
std::span<const JsonOutput> outputs();

/// All commands, with what they ask of their results.
std::span<const CommandQuestions> questions();

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/figure.h"
#include "core/question.h"

namespace lw::impair {

/// All outputs of JSON whose schemas are made of tables.
std::span<const JsonOutput> outputs();

/// All commands, with what they ask of their results.
std::span<const CommandQuestions> questions();

}  // namespace lw::impair

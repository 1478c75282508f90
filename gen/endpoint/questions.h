// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/question.h"

namespace lw::gen::endpoint {

/// All commands of roce-endpoint, with what they ask of their results.
std::span<const CommandQuestions> questions();

}  // namespace lw::gen::endpoint

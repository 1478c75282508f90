// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// What was lost, late or copied, and where?
Answer ask_losses(const Facts& facts);

}  // namespace lw::dissect

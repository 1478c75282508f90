// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// What bounds the rate?
Answer ask_rate(const Facts& facts);

}  // namespace lw::dissect

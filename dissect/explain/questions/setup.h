// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// Did the connections come up?
Answer ask_setup(const Facts& facts);

}  // namespace lw::dissect

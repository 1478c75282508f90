// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// Did every peer answer?
Answer ask_answers(const Facts& facts);

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// Is what they sent valid?
Answer ask_validity(const Facts& facts);

}  // namespace lw::dissect

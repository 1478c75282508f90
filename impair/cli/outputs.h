// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/figure.h"

namespace lw::impair {

/// All outputs of JSON whose schemas are made of tables.
std::span<const JsonOutput> outputs();

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/figure.h"

namespace lw::dissect {

/// The table of a row of `fields`.
const FigureTable& field_figures();
inline constexpr JsonOutput kFieldOutput{
    .name = "field", .title = "roce-dissect fields --json", .figures = &field_figures};

/// All outputs of JSON whose schemas are made of tables.
std::span<const JsonOutput> outputs();

}  // namespace lw::dissect

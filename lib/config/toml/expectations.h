// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/toml/table.h"
#include "core/expectation.h"

namespace lw::config {

/// Reads the keys of [expect] as expectations: a key, or dotted keys, is the path of a figure in
/// the report's JSON, and its value the comparison: "< 2%", a number alone (<=), true or false, or
/// a list of them. `others`: keys of the table itself that mean something else.
std::vector<Expectation> read_expectations(const Table& table,
                                           const std::vector<std::string_view>& others = {});

}  // namespace lw::config

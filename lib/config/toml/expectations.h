// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/toml/table.h"
#include "core/expectation.h"

namespace lw::config {

/// Reads the keys of [expect] as expectations. A key, or dotted keys, is the path of a figure in
/// the report's JSON. The value is the comparison: "< 2%", a number (means <=), true or false, or a
/// list of these. `others`: keys of the table that have another meaning.
std::vector<Expectation> read_expectations(const Table& table,
                                           const std::vector<std::string_view>& others = {});

/// Reads the limits of one key, which stands for a figure of a unit: check_limit(). None if the key
/// is absent.
std::vector<Expectation> read_limits(const Table& table, std::string_view key,
                                     Expectation::Unit unit);

}  // namespace lw::config

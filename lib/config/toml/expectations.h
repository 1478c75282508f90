// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/toml/table.h"
#include "core/question.h"

namespace lw::config {

/// Reads the keys of [expect] as expectations. A key, or dotted keys, is the path of a figure in
/// the report's JSON. The value is the comparison: "< 2%", a number (means <=), true or false, or a
/// list of these. `others`: keys of the table that have another meaning.
std::vector<Expectation> read_expectations(const Table& table,
                                           const std::vector<std::string_view>& others = {});

/// Reads the limits of the key with a question's name: check_question(). None if it is absent.
std::vector<Expectation> read_limits(const Table& table, const Question& question);

}  // namespace lw::config

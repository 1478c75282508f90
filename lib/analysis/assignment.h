// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace lw::analysis {

/// Assigns rows to columns, each to at most one of the others, at the least sum of costs. `costs`
/// has a vector of finite costs for each row, all of one length, not below the number of rows.
/// Returns the column of each row. (Kuhn's Hungarian method, cubic time.)
std::vector<std::size_t> assign(const std::vector<std::vector<double>>& costs);

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
// The cheapest assignment is that of a search over all.
#include "analysis/assignment.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

using Costs = std::vector<std::vector<double>>;

double cost_of(const Costs& costs, const std::vector<std::size_t>& columns) {
  double sum = 0;
  for (std::size_t row = 0; row < costs.size(); ++row) sum += costs[row][columns[row]];
  return sum;
}

double least_cost(const Costs& costs) {
  std::vector<std::size_t> columns(costs.front().size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  double least = cost_of(costs, columns);
  while (std::ranges::next_permutation(columns).found)
    least = std::min(least, cost_of(costs, columns));
  return least;
}

TEST(Assignment, IsTheCheapestOfAll) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> cost(0, 20);
  std::uniform_int_distribution<std::size_t> rows(1, 4), more(0, 2);
  for (int drawn = 0; drawn < 200; ++drawn) {
    const std::size_t count = rows(random), columns = count + more(random);
    Costs costs(count, std::vector<double>(columns));
    for (auto& row : costs)
      for (double& one : row) one = cost(random);
    std::vector<std::size_t> found = assign(costs);
    EXPECT_EQ(cost_of(costs, found), least_cost(costs));
    std::ranges::sort(found);
    EXPECT_TRUE(std::ranges::adjacent_find(found) == found.end());
  }
  EXPECT_TRUE(assign({}).empty());
}

}  // namespace
}  // namespace lw::analysis

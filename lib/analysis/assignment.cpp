// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/assignment.h"

#include <limits>

namespace lw::analysis {
namespace {

/// The assignment of some rows, and the dual prices of rows and columns. Index 0 of rows and
/// columns stands for none.
struct Assignment {
  explicit Assignment(const std::vector<std::vector<double>>& all_costs)
      : costs(all_costs),
        columns(all_costs.front().size()),
        row_price(all_costs.size() + 1),
        column_price(columns + 1),
        row_of(columns + 1) {}

  /// Adds a row: moves others along the cheapest chain of changes to a free column.
  void add(std::size_t row) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    std::vector<double> least(columns + 1, kInfinite);
    std::vector<std::size_t> from(columns + 1);
    std::vector<char> used(columns + 1);
    std::size_t at = 0;
    row_of[0] = row;
    do {
      used[at] = 1;
      std::size_t next = 0;
      double step = kInfinite;
      for (std::size_t column = 1; column <= columns; ++column) {
        if (used[column]) continue;
        const double cost = reduced(row_of[at], column);
        if (cost < least[column]) {
          least[column] = cost;
          from[column] = at;
        }
        if (least[column] < step) {
          step = least[column];
          next = column;
        }
      }
      change_prices(step, used, least);
      at = next;
    } while (row_of[at] != 0);
    for (; at != 0; at = from[at]) row_of[at] = row_of[from[at]];
  }

  [[nodiscard]] double reduced(std::size_t row, std::size_t column) const {
    return costs[row - 1][column - 1] - row_price[row] - column_price[column];
  }
  void change_prices(double step, const std::vector<char>& used, std::vector<double>& least) {
    for (std::size_t column = 0; column <= columns; ++column) {
      if (!used[column]) {
        least[column] -= step;
        continue;
      }
      row_price[row_of[column]] += step;
      column_price[column] -= step;
    }
  }

  const std::vector<std::vector<double>>& costs;
  std::size_t columns;
  std::vector<double> row_price, column_price;
  std::vector<std::size_t> row_of;  // by column; 0: it is free
};

}  // namespace

std::vector<std::size_t> assign(const std::vector<std::vector<double>>& costs) {
  std::vector<std::size_t> column_of(costs.size());
  if (costs.empty()) return column_of;
  Assignment assignment(costs);
  for (std::size_t row = 1; row <= costs.size(); ++row) assignment.add(row);
  for (std::size_t column = 1; column <= assignment.columns; ++column)
    if (const std::size_t row = assignment.row_of[column]; row != 0)
      column_of[row - 1] = column - 1;
  return column_of;
}

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "core/figure.h"
#include "report/prometheus.h"

namespace lw::report {

/// A struct of a table, and the labels of its samples.
struct LabelledObject {
  Prometheus::Labels labels;
  const void* object = nullptr;
};

/// Adds a family for each number of a table, with a sample for each object: `prefix`, the keys that
/// lead to it, its unit, and _total for a counter: longwire_impair_sent_bytes_total. Times are in
/// seconds. The names within a figure that has a label are values of that label. Truth values,
/// texts and lists have no family.
void add_metrics(Prometheus& out, std::string_view prefix, const FigureTable& table,
                 std::span<const LabelledObject> objects);

}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "report/plot.h"

namespace lw::report {

/// A unit in which the largest of some values is at least 1.
struct PlotUnit {
  std::string name;
  double size = 1;  // in the base unit
};
PlotUnit time_unit(double most_ns);
PlotUnit rate_unit(double most_bps);

/// A histogram as steps: the share, in %, of all values in each of 20 classes per power of ten.
/// Values below 1 are in the first class. `unit` divides the values. No points without values.
PlotCurve histogram_curve(std::string name, std::span<const Histogram::Bucket> buckets,
                          double unit);

/// A histogram of times in ns, and its name in the legend.
struct NamedBuckets {
  std::string name;
  std::vector<Histogram::Bucket> buckets;
};
/// A plot of histograms of times, in a unit that fits them; no curves if all are empty.
Plot time_histogram(std::string title, std::string what, std::span<const NamedBuckets> parts);

}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "dissect/compare/comparison.h"

namespace lw::dissect {

/// What the path was asked to do, to hold the measured against.
struct Asked {
  std::optional<Duration> delay;
  std::optional<double> loss;  // a probability
};

/// For people.
std::string comparison_text(const CapturePoint& near, const CapturePoint& far,
                            const Comparison& comparison, const Asked& asked);
/// The same as one JSON line.
std::string comparison_json(const CapturePoint& near, const CapturePoint& far,
                            const Comparison& comparison, const Asked& asked);

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "dissect/compare/comparison.h"

namespace lw::dissect {

/// Delay and loss that the path should have.
struct Asked {
  std::optional<Duration> delay;
  std::optional<double> loss;  // a probability
};

/// Text.
std::string comparison_text(const CapturePoint& near, const CapturePoint& far,
                            const Comparison& comparison, const Asked& asked);
/// One JSON line.
std::string comparison_json(const CapturePoint& near, const CapturePoint& far,
                            const Comparison& comparison, const Asked& asked);

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/anomaly.h"

namespace lw::analysis {

/// What the facts allow an anomaly to be.
struct Finding {
  Certainty certainty = Certainty::certain;
  Cause cause = Cause::none;  // unless certain: the likeliest
  Hypotheses alternatives = {};
  std::optional<AnomalyKind> kind = {};  // of the first alternative; nothing: as it was seen

  static constexpr Finding certain(Cause cause) { return {.cause = cause}; }
  /// The first alternative is the likeliest.
  static constexpr Finding either(Hypotheses alternatives) {
    return {.certainty = Certainty::either,
            .cause = alternatives.begin()->cause,
            .alternatives = alternatives,
            .kind = alternatives.begin()->kind};
  }
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/findings/facts.h"

namespace lw::analysis {

/// Returns the anomaly that a fact is; nothing: the whole capture shows that it is none. A pure
/// function: each kind whose cause depends on the whole capture has a file of its own.
std::optional<Anomaly> classify(const Fact& fact, const ConnectionFacts& connection,
                                const CaptureFacts& capture);

}  // namespace lw::analysis

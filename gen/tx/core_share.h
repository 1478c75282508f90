// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "config/flow/flow_profile.h"

namespace lw::gen {

/// Which flows are a core's: of `cores` every so many, from number `core` on.
struct CoreShare {
  std::uint16_t core = 0, cores = 1;  // core: also its send queue on every port

  /// Number in the profile of the core's flow number `own`.
  [[nodiscard]] std::size_t flow(std::size_t own) const noexcept { return own * cores + core; }
};

/// The profile with that core's flows only. A flow's frames hang on the seed and its own name, so
/// they are the same whoever sends them, and beside whichever others.
inline config::FlowProfile flows_of(const config::FlowProfile& profile, CoreShare share) {
  config::FlowProfile part;
  part.name = profile.name;
  part.seed = profile.seed;
  for (std::size_t i = share.core; i < profile.flows.size(); i += share.cores) {
    part.flows.push_back(profile.flows[i]);
  }
  return part;
}

}  // namespace lw::gen

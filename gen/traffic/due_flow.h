// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>

#include "core/time.h"

namespace lw::gen {

/// A flow's place in the order of all: by time, then by number.
struct DueFlow {
  Duration at{};
  std::uint32_t flow = 0;
  friend auto operator<=>(const DueFlow&, const DueFlow&) = default;
};

}  // namespace lw::gen

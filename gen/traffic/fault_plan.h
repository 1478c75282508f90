// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/flow/flow_fault.h"
#include "core/chance.h"

namespace lw::gen {

/// Where a frame stands, as far as faults care.
struct FaultPlace {
  std::uint64_t frame = 0;    // its number within the QP, from 0
  std::uint32_t packet = 0;   // within its message
  std::uint32_t packets = 1;  // of its message
};

/// Which frames of a QP have which fault. At most one a frame, so that no fault hides another: the
/// first in the profile goes first.
class FaultPlan {
 public:
  /// `faults` must outlive it. Draws hang on seed, `flow_name` and the fault's kind.
  FaultPlan(const std::vector<config::Fault>& faults, std::uint64_t seed,
            std::string_view flow_name);

  /// The fault of the next frame, if any. To be asked once a frame, in their order.
  std::optional<config::FaultKind> next(const FaultPlace& place) noexcept;

 private:
  struct Entry {
    const config::Fault* fault;
    Chance chance;
    Threshold threshold;
    std::size_t listed = 0;  // how many of fault->frames are done
  };
  std::vector<Entry> entries_;
};

}  // namespace lw::gen

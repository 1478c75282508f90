// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/flow/fault.h"
#include "roce/compose.h"

namespace lw::gen {

/// Decides which frames of a QP have which deliberate fault. A frame has at most one, so that no
/// fault hides another; the first one in the profile has priority.
class FaultPlan {
 public:
  /// `faults` must outlive the plan. Draws depend on `seed`, `flow_name` and the fault's kind.
  FaultPlan(const std::vector<config::Fault>& faults, std::uint64_t seed,
            std::string_view flow_name);
  ~FaultPlan();

  /// Returns the fault of frame `frame` of the QP (from 0), which is packet `packet` of a message
  /// of `packets`. Call it once per frame, in order.
  std::optional<config::FaultKind> next(std::uint64_t frame, std::uint32_t packet,
                                        std::uint32_t packets) noexcept;

 private:
  struct Entry;
  std::vector<Entry> entries_;
};

/// True if a fault changes a frame's bytes, rather than its PSN or its position in a message.
constexpr bool is_in_bytes(config::FaultKind kind) noexcept {
  return kind <= config::FaultKind::truncated_bth;
}

/// Applies a fault to a valid frame and updates the ICRC, unless that is the fault. `kind` must be
/// is_in_bytes(), but not truncated_bth.
void apply_fault(config::FaultKind kind, wire::Encapsulation encapsulation,
                 const roce::FrameLayout& layout, wire::MutableBytes frame) noexcept;

/// Returns the frame up to the eighth byte of its BTH, with matching lengths and IPv4 checksum, and
/// without an ICRC.
std::vector<std::byte> truncated(wire::Encapsulation encapsulation, const roce::FrameLayout& layout,
                                 wire::Bytes frame);

}  // namespace lw::gen

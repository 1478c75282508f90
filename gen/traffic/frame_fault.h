// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "config/flow/flow_fault.h"
#include "roce/compose.h"

namespace lw::gen {

/// Whether a fault is in a frame's bytes, rather than in its PSN or its place in a message.
constexpr bool is_in_bytes(config::FaultKind kind) noexcept {
  return kind <= config::FaultKind::truncated_bth;
}

/// Puts a fault into a sound frame's bytes, and the ICRC right again, unless that is the fault.
/// Not for truncated_bth, nor for a fault that is_in_bytes() doesn't know.
void spoil(config::FaultKind kind, wire::Encapsulation encapsulation,
           const roce::FrameLayout& layout, wire::MutableBytes frame) noexcept;

/// The frame up to the eighth byte of its BTH, with lengths and IPv4 checksum to fit. It has no
/// ICRC.
std::vector<std::byte> truncated(wire::Encapsulation encapsulation, const roce::FrameLayout& layout,
                                 wire::Bytes frame);

}  // namespace lw::gen

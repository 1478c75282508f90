// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace lw::nic {

/// Bytes that hold a frame of this size together with what af_packet's ring puts before it (66 B,
/// and 4 more where a VLAN tag is put back), in steps of 512: a ring's block must be whole pages
/// and whole slots, and so stays small. A buffer with this much room fits every port here.
constexpr std::uint32_t frame_room(std::uint32_t frame_size) noexcept {
  constexpr std::uint32_t kRingHeader = 96, kStep = 512;
  return (frame_size + kRingHeader + kStep - 1) / kStep * kStep;
}

}  // namespace lw::nic

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/ethernet.h"

namespace lw::gen {

/// What a frame adds to its flow, for the pacer.
struct FrameWork {
  std::uint64_t wire_bytes = 0;     // gap and all
  std::uint64_t payload_bytes = 0;  // pad not counted
  std::uint32_t packets = 1;        // of its message
  bool ends_message = true;
};

/// What a frame of `size` bytes takes on the wire: padded to Ethernet's minimum, with preamble,
/// FCS and the smallest gap.
constexpr std::uint64_t wire_bytes(std::size_t size) noexcept {
  return (size < wire::kEthernetMinimum ? wire::kEthernetMinimum : size) + wire::kEthernetOverhead;
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "wire/view.h"

namespace lw::wire {

/// Ethernet's CRC-32 (reflected, inverted at both ends), at folding speed. `so_far` is the CRC of
/// what comes before `bytes`, 0 for nothing: crc32(crc32(0, a), b) = crc32(0, ab).
/// Of a frame without its FCS this is the FCS. Both FCS and ICRC go least significant byte first.
std::uint32_t crc32(std::uint32_t so_far, Bytes bytes) noexcept;

}  // namespace lw::wire

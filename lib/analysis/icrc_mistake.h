// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "roce/envelope.h"

namespace lw::analysis {

/// Names the way in which `found`, a frame's ICRC, was computed wrongly: "its bytes are reversed",
/// "it is a CRC-32C". Tries one mistake after the other: order of bytes or bits, polynomial, seed,
/// what is covered, what is masked. Empty: none gives `found`. `place`: where the ICRC is.
std::string_view icrc_mistake(const roce::Envelope& envelope, const roce::IcrcPlace& place,
                              std::uint32_t found);

}  // namespace lw::analysis

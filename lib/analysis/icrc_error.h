// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "roce/envelope.h"

namespace lw::analysis {

/// Explains a bad ICRC by the smallest change that makes it right: one flipped bit, or a 16-bit
/// field that something on the path rewrote. Returns for example "bit 3 of byte 70 was flipped
/// (payload byte 16)" or "the UDP source port was 49152 when the ICRC was computed"; otherwise "no
/// single bit or field explains it". Requires a bad ICRC.
std::string explain_bad_icrc(const roce::Envelope& envelope);

}  // namespace lw::analysis

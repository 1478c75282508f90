// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "roce/envelope.h"

namespace lw::analysis {

/// The smallest change that makes a bad ICRC right: one flipped bit, or a 16-bit field that
/// something on the path rewrote. "bit 3 of byte 70 was flipped (payload byte 16)", "the UDP source
/// port was 49152 when the ICRC was computed"; "no single bit or field explains it" otherwise.
/// Only for a frame whose ICRC is bad.
std::string explain_bad_icrc(const roce::Envelope& envelope);

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "wire/view.h"

namespace lw::gen {

/// A RoCE frame in words: "RC WRITE ONLY, QP 0x12, PSN 0, AckReq, va 0x100000, rkey 0x1234,
/// dmalen 64, 64 B of payload, frame 134 B". The frame must be a sound one.
std::string frame_words(wire::Bytes frame);

}  // namespace lw::gen

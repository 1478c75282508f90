// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "capture/annotated_copy.h"
#include "dissect/explain/facts/evidence.h"

namespace lw::dissect {

/// The findings as comments of frames, in the order of frames: a finding with its display filter at
/// the frame that shows it, and a reference to it at the last frame of a recovery and at the frame
/// that explains it.
std::vector<capture::FrameComment> frame_comments(const Evidence& evidence);

}  // namespace lw::dissect

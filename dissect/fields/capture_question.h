// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/question.h"

namespace lw::dissect {

/// Asked by every command that reads a capture.
inline constexpr Question kCaptureQuestion{
    .name = "capture",
    .meaning = "captures that are damaged, or are no captures",
    .asked = "the capture is read to its end",
    .limit = "== 0",
    .where = "capture"};

/// Adds whether a capture was read to its end. `damage`: why not; none: it was. `frames`: read.
void observe_capture(Judge& judge, const std::optional<Error>& damage, std::uint64_t frames);

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/fields/capture_question.h"

/// The questions of commands that read captures; those of `compare` are in compare/expectation.h.
namespace lw::dissect {

/// Of `verify`, for each file.
inline constexpr Question kVerifyQuestions[] = {
    {.name = "icrc",
     .meaning = "frames with a bad ICRC",
     .asked = "every ICRC that can be verified is right",
     .limit = "== 0",
     .where = "capture"},
    {.name = "unverifiable",
     .meaning = "RoCE frames whose ICRC cannot be verified",
     .asked = "every ICRC can be verified",
     .limit = "== 0",
     .where = "capture",
     .noted = true},
    kCaptureQuestion,
};

/// Of `summary`, and of the commands that print what a capture contains, without a verdict.
inline constexpr Question kReadingQuestions[] = {
    kCaptureQuestion,
};

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/capture_question.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {

void observe_capture(Judge& judge, const std::optional<Error>& damage, std::uint64_t frames) {
  Observation capture{.name = "capture",
                      .value = damage ? 1 : 0,
                      .text = fmt::format("read {}", format_count(frames, "frame")),
                      .count = frames};
  if (damage) {
    capture.text = damage->message;
    capture.failure = damage->exit;
  }
  judge.add(capture);
}

}  // namespace lw::dissect

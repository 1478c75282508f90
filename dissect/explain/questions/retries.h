// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "dissect/explain/facts/statement.h"

namespace lw::dissect {

/// Requests of a session without an answer at the end of the capture.
struct OpenEnd {
  const analysis::Session* session = nullptr;
  std::uint8_t direction = 0;
  const analysis::OpenRequests* open = nullptr;
};
/// Those that are reported as unanswered.
std::vector<OpenEnd> open_ends(const Evidence& evidence);

/// "7 retries, 67.1 ms apart (timeout 14)"; "sent once" without any.
std::string retries_text(const analysis::RetryWaits& waits);
/// Whether the sender has given up: its retries are used up, or it is silent for longer than its
/// timer.
bool was_given_up(const Evidence& evidence, const analysis::OpenRequests& open);

/// Whether the statements about requests without an answer tell of a group of recoveries, or of
/// packets that were sent often: all happened in connections that got no more answers.
bool is_part_of_unanswered(const Facts& facts, const AnomalyGroup& group);
/// " (256 bytes)": the payload of the READ responses FIRST and MIDDLE of the group's sessions;
/// empty: none was captured.
std::string response_sizes(const Facts& facts, const AnomalyGroup& group);

}  // namespace lw::dissect

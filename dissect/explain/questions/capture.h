// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// What the answers show of the packets that a capture should hold.
struct CaptureShare {
  std::uint64_t packets = 0;  // PSNs that passed
  std::uint64_t missing = 0;  // of these: the capture lacks them

  /// The share that it holds, 0 to 1.
  [[nodiscard]] double held() const noexcept {
    return packets == 0 ? 1 : 1 - static_cast<double>(missing) / static_cast<double>(packets);
  }
};
CaptureShare share_of(const Evidence& evidence);
/// Whether so many frames are missing that the capture is a sample: a twentieth, of any connection.
bool is_sample(const Facts& facts);

/// Is the capture good enough?
Answer ask_capture(const Facts& facts);

}  // namespace lw::dissect

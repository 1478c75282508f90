// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/fetch_state.h"

namespace lw::analysis {

bool FetchState::is_too_soon(const CapturedPacket& packet, const Sent& request) const noexcept {
  const auto least = answers.least_round_trip();
  constexpr Duration kJitter = std::chrono::microseconds{1};
  return least &&
         stamp_difference(packet.stamp, request.last_stamp) + *least / 8 + kJitter < *least;
}

ResponseGap FetchState::placed(ResponseGap gap) noexcept {
  gap.in_row = gap.first == newest + 1 || (gap.frame == row_frame_ && gap.first == row_end_);
  if (gap.in_row) {
    row_frame_ = gap.frame;
    row_end_ = gap.first + gap.packets;
  }
  return gap;
}

}  // namespace lw::analysis

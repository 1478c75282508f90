// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissect/matching/capture_records.h"
#include "roce/frame.h"

namespace lw::dissect {

/// A flow: its addresses, and its direction.
struct FlowWay {
  roce::FlowKey key = {};
  bool goes_far = true;
};

/// Of RC requests that the other point lacks, those that arrived nevertheless: their sender sent
/// them once, and later an answer to a later PSN came back (IBTA vol. 1, 9.7.5.1.2: an answer
/// acknowledges all requests before its own). An ACK's own PSN is not counted, as a NAK names the
/// PSN that did not arrive.
///
/// `sent`: the frames at the sender's point. `orders`: of the requests. `flows`: by
/// CaptureRecord::flow. No header names the flow that a request's answers are of: each flow of
/// answers, of the opposite addresses and direction and with PSNs of the requests' range, may be
/// it, and all of them have to acknowledge a request. Of more than kMostAnswering such flows,
/// nothing is concluded.
struct Acknowledged {
  std::vector<std::uint32_t> orders;  // sorted
  bool repeats = false;  // the sender repeated others of these requests: it reacts to losses
};
Acknowledged acknowledged_among(Records sent, std::span<const std::uint32_t> orders,
                                std::span<const FlowWay> flows);
inline constexpr std::size_t kMostAnswering = 64;

}  // namespace lw::dissect

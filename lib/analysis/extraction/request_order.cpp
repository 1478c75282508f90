// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/extraction/request_order.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {

RequestOrder::Due RequestOrder::due_of(Sequence psn) const noexcept {
  if (psn < next_) return Due::passed;
  return psn <= std::max(next_, next_end_) ? Due::now : Due::later;
}

void RequestOrder::wait(Sequence psn, WaitingRequest request) {
  const std::size_t bytes = request.bytes.size();
  if (waiting_.try_emplace(psn, std::move(request)).second) bytes_ += bytes;
}

void RequestOrder::advance(Sequence psn, std::uint32_t span, bool span_is_known) noexcept {
  next_ = psn + (span_is_known ? span : 1);
  next_end_ = psn + span;
}

std::optional<WaitingRequest> RequestOrder::pop(Sequence& psn) {
  while (!waiting_.empty()) {
    const auto oldest = waiting_.begin();
    const Due due = due_of(oldest->first);
    if (due == Due::later) return std::nullopt;
    psn = oldest->first;
    WaitingRequest request = std::move(oldest->second);
    bytes_ -= request.bytes.size();
    waiting_.erase(oldest);
    if (due == Due::now) return request;
  }
  return std::nullopt;
}

Range RequestOrder::pass_gap() noexcept {
  const Range gap{next_, waiting_.begin()->first - 1};
  next_ = next_end_ = gap.last + 1;
  return gap;
}

}  // namespace lw::analysis

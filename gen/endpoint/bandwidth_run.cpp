// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/bandwidth_run.h"

#include <algorithm>

namespace lw::gen::endpoint {

bool BandwidthRun::may_post(const Flow& flow) const noexcept {
  if (session_.stopped()) return false;
  return until_ ? time_now() < *until_ : flow.posted < config_.iterations;
}

/// Returns the number of requests to post now. A list waits until there is room for all of it,
/// unless no completion of a request in flight would make room.
std::uint64_t BandwidthRun::list_length(const Flow& flow) const noexcept {
  std::uint64_t length = session_.params().depth - flow.in_flight();
  if (!until_) length = std::min(length, config_.iterations - flow.posted);
  const std::uint64_t wanted =
      std::min<std::uint64_t>(session_.verbs().list, session_.params().depth);
  if (length > wanted) return wanted;
  const bool room_comes = flow.last_signalled > flow.completed;
  const bool rest = !until_ && flow.posted + length == config_.iterations;
  return length == wanted || rest || !room_comes ? length : 0;
}

Result<void> BandwidthRun::post_more(Flow& flow) {
  while (may_post(flow)) {
    const std::uint64_t length = list_length(flow);
    if (length == 0) return {};
    list_.clear();
    pieces_.resize(length);
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::uint64_t number = flow.posted + i;
      const bool last = !until_ && number + 1 == config_.iterations;
      const bool signalled = (number + 1) % every_ == 0 || last;
      session_.fill(flow, number);
      list_.push_back(session_.request_of(flow, number, pieces_[i], signalled));
      if (signalled) flow.last_signalled = number + 1;
    }
    if (auto posted = flow.qp.post(list_); !posted) return posted;
    flow.posted += length;
  }
  return post_signalled(flow);
}

/// After a time limit or a signal the last requests may not be signalled, so one more request is
/// posted that is.
Result<void> BandwidthRun::post_signalled(Flow& flow) {
  if (flow.last_signalled == flow.posted || flow.in_flight() == 0 || list_length(flow) == 0)
    return {};
  session_.fill(flow, flow.posted);
  pieces_.resize(1);
  list_.assign(1, session_.request_of(flow, flow.posted, pieces_[0], true));
  flow.last_signalled = ++flow.posted;
  return flow.qp.post(list_);
}

/// Handles a completion, which confirms all earlier requests of its QP.
Result<void> BandwidthRun::complete(const ibv_wc& done) {
  if (done.status != IBV_WC_SUCCESS) return std::unexpected(session_.failure_of(done));
  Flow& flow = session_.flow_of(done.qp_num);
  perf::BandwidthResult& result = outcome_.bandwidth;
  const Instant now = time_now();
  for (; flow.completed <= done.wr_id; ++flow.completed, ++result.messages) {
    if (!session_.right(flow, flow.completed)) ++outcome_.wrong;
    result.bytes += session_.params().size;
  }
  session_.note_progress(now);
  meter_.note(now - start_, result);
  return post_more(flow);
}

Result<void> BandwidthRun::run() {
  if (auto begun = begin(); !begun) return begun;
  while (busy())
    if (auto stepped = step(); !stepped) return std::unexpected(stepped.error());
  finish();
  return {};
}

Result<void> BandwidthRun::begin() {
  if (session_.verbs().periodic) every_ = std::max(1u, session_.params().depth / 2);
  start_ = time_now();
  if (config_.duration > Duration{}) until_ = start_ + config_.duration;
  for (Flow& flow : session_.flows())
    if (auto posted = post_more(flow); !posted) return posted;
  return {};
}

Result<bool> BandwidthRun::step() {
  const auto completed = session_.poll();
  for (const ibv_wc& each : completed)
    if (auto handled = complete(each); !handled) return std::unexpected(handled.error());
  if (!completed.empty()) return true;
  if (auto waited = session_.idle(); !waited) return std::unexpected(waited.error());
  if (until_ || session_.stopped())
    for (Flow& flow : session_.flows())
      if (auto posted = post_more(flow); !posted) return std::unexpected(posted.error());
  return false;
}

bool BandwidthRun::busy() const noexcept {
  return std::ranges::any_of(session_.flows(),
                             [](const Flow& flow) { return flow.in_flight() > 0; });
}

void BandwidthRun::finish() {
  const std::uint64_t window = std::uint64_t{session_.params().depth} * session_.flows().size();
  meter_.finish(outcome_.bandwidth, window, !session_.stopped());
}

}  // namespace lw::gen::endpoint

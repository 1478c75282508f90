// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/pacer.h"

#include <cmath>

namespace lw::gen {
namespace {

using config::ArrivalProcess;
using Unit = config::Rate::Unit;

/// Mean burst in units of the rate; 0 if the means are unknown.
double mean_burst(const config::Flow& flow) {
  const config::MessageMeans& means = flow.means;
  if (means.frames <= 0) return 0;
  const bool whole = flow.burst == config::Flow::kWholeMessage;
  const double messages = whole ? 1 : flow.burst / means.frames;
  switch (flow.rate.unit) {
    case Unit::frames:
      return messages * means.frames;
    case Unit::goodput:
      return messages * 8 * means.payload_bytes;
    case Unit::messages:
      return messages;
    default:
      return messages * 8 * means.wire_bytes;
  }
}

long double gap_in_ns(const config::Flow& flow) {
  return mean_burst(flow) * 1e9L / flow.rate.value;
}

}  // namespace

Duration mean_gap(const config::Flow& flow) {
  return Duration{static_cast<std::int64_t>(std::min<long double>(gap_in_ns(flow), kLongestNs))};
}

Pacer::Pacer(const config::Rate& rate, std::uint32_t burst) noexcept
    : step_(pacing_step(rate.value)), unit_(rate.unit), burst_(burst) {}

Pacer::Pacer(const config::Flow& flow, std::uint64_t seed)
    : step_(0),
      unit_(flow.rate.unit),
      arrival_(flow.arrival),
      burst_(flow.burst),
      on_(flow.on),
      off_(flow.off),
      chance_(seed, hash_name(full_name(flow) + "/arrival")) {
  const long double gap_ns = gap_in_ns(flow);
  const long double phase = static_cast<long double>(flow.qp) / flow.qps;
  start_ = flow.start_after;
  if (flow.stop_after) stop_ = *flow.stop_after;
  if (arrival_ == ArrivalProcess::poisson) {
    mean_gap_ns_ = gap_ns;
    due_ = next_arrival();
    return;
  }
  double rate = flow.rate.value;
  if (arrival_ == ArrivalProcess::on_off) {
    const auto on = static_cast<double>(on_.count());
    rate *= (on + static_cast<double>(off_.count())) / on;
  }
  step_ = pacing_step(rate);
  start_ += bounded(gap_ns * phase);
  due_ = start_;
}

Pacer::EvenPace Pacer::even_pace(const FrameWork& work, std::uint32_t most) const noexcept {
  EvenPace pace{.due = due_, .end = fine(span())};
  const bool counts_packets = unit_ == Unit::messages && work.packets > 1;
  if (arrival_ != ArrivalProcess::constant || counts_packets) return pace;
  pace.end = fine(start_) + done_;
  pace.step = pacing_time(step_, units_of(work));
  const bool whole_message = burst_ == config::Flow::kWholeMessage;
  pace.together = whole_message ? !work.ends_message : burst_ > 1;
  FineTime frames = most;
  if (pace.together && !whole_message) frames = std::min<FineTime>(frames, burst_ - in_burst_);
  if (pace.step > 0) {
    frames = std::min(frames, (kLongestPace - done_) / pace.step);
    // Frames that are due before stop_; the first one is.
    if (!pace.together && stop_ != Duration::max()) {
      frames = std::min(frames, (fine(stop_) - 1 - pace.end) / pace.step + 1);
    }
  }
  pace.frames = static_cast<std::uint32_t>(std::max<FineTime>(frames, 1));
  return pace;
}

void Pacer::skip(const FrameWork& work, std::uint32_t frames) noexcept {
  if (const std::uint32_t before = frames - 1; before > 0) {
    add(units_of(work) * before);
    if (burst_ > 1) in_burst_ += before;
  }
  advance(work);
}

void Pacer::count_packet(const FrameWork& work) noexcept {
  packets_ = work.packets;
  unfinished_ = work.ends_message ? 0 : std::min(unfinished_ + 1, packets_);
  if (work.ends_message) add(1);
}

FineTime Pacer::with_unfinished() const noexcept {
  // Rounded up as step_ is, so that a packet is never due before its time.
  const FineTime whole = pacing_time(step_ / packets_, unfinished_);
  const FineTime rest = (step_ % packets_ * unfinished_ + packets_ - 1) / packets_;
  return std::min(done_ + whole + rest, kLongestPace);
}

Duration Pacer::next_arrival() noexcept {
  // 1 - u is in (0, 1]: the logarithm is finite.
  arrived_ns_ -= mean_gap_ns_ * std::log(1 - chance_.uniform(arrivals_++));
  return start_ + bounded(arrived_ns_);
}

Duration Pacer::stretched(Duration worked) const noexcept {
  std::int64_t pauses = 0;
  const bool over = __builtin_mul_overflow(worked / on_, off_.count(), &pauses);
  return over || pauses > kLongestNs - worked.count() ? Duration{kLongestNs}
                                                      : worked + Duration{pauses};
}

}  // namespace lw::gen

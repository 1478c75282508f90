// SPDX-License-Identifier: BSD-3-Clause
#include "gen/pacer.h"

namespace lw::gen {
namespace {

using profile::Arrival;
using Unit = profile::Rate::Unit;

/// A burst on average, in what the rate counts; 0 where nobody worked the means out.
double mean_burst(const profile::Flow& flow) {
  const profile::MessageMeans& means = flow.means;
  if (means.frames <= 0) return 0;
  const bool whole = flow.burst == profile::Flow::kWholeMessage;
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

}  // namespace

Pacer::Pacer(const profile::Rate& rate, std::uint32_t burst) noexcept
    : rate_(rate), burst_(burst) {}

Pacer::Pacer(const profile::Flow& flow, std::uint64_t seed)
    : rate_(flow.rate),
      burst_(flow.burst),
      arrival_(flow.arrival),
      on_(flow.on),
      off_(flow.off),
      chance_(seed, hash_name(full_name(flow) + "/arrival")) {
  const long double gap_ns = mean_burst(flow) * kNsPerSecond / rate_.value;
  const long double turn = static_cast<long double>(flow.qp) / flow.qps;
  start_ = flow.start_after;
  if (flow.stop_after) stop_ = *flow.stop_after;
  if (arrival_ == Arrival::poisson) {
    mean_gap_ns_ = gap_ns;
    due_ = next_arrival();
    return;
  }
  if (arrival_ == Arrival::on_off) {
    const auto on = static_cast<double>(on_.count());
    rate_.value *= (on + static_cast<double>(off_.count())) / on;
  }
  start_ += bounded(gap_ns * turn);
  due_ = start_;
}

void Pacer::count(const Work& work) noexcept {
  switch (rate_.unit) {
    case Unit::frames:
      ++work_;
      return;
    case Unit::goodput:
      work_ += 8 * work.payload_bytes;
      return;
    case Unit::messages:
      ++packets_;
      part_of_message_ = std::min(1.0, static_cast<double>(packets_) / work.packets);
      if (!work.ends_message) return;
      ++work_;
      packets_ = 0;
      part_of_message_ = 0;
      return;
    default:
      work_ += 8 * work.wire_bytes;
  }
}

Duration Pacer::next_arrival() noexcept {
  // 1 - u is in (0, 1]: its logarithm is finite.
  arrived_ns_ -= mean_gap_ns_ * std::log(1 - chance_.uniform(bursts_));
  return start_ + bounded(arrived_ns_);
}

Duration Pacer::stretched(long double ns) const noexcept {
  if (arrival_ != Arrival::on_off) return bounded(ns);
  const auto on = static_cast<long double>(on_.count());
  const long double periods = std::floor(ns / on);
  return bounded(ns + periods * static_cast<long double>(off_.count()));
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/directions.h"

#include <algorithm>
#include <cmath>

#include "capture/record.h"

namespace lw::dissect {
std::int64_t far_minus_near(const CaptureRecord& near, const CaptureRecord& far) noexcept {
  return stamp_difference(far.stamp_ns, near.stamp_ns);
}

Directions::Directions(const FlowNames& flows, Senders senders)
    : senders_(senders), slots_(flows.forgotten().size(), kForgotten), flows_(1) {
  flows_.reserve(flows.remembered().size() + 1);
  for (const auto& [key, index] : flows.remembered()) {
    slots_[index.value] = static_cast<std::uint32_t>(flows_.size());
    flows_.push_back({.pair = {key.source, key.destination}});
  }
}

void Directions::count(const CaptureRecord& frame, bool at_far) {
  Flow& flow = flows_[slots_[frame.flow]];
  ++flow.frames[at_far ? 1 : 0];
  flow.intact = flow.intact || !frame.bad_icrc;
  std::int64_t& first = flow.first[at_far ? 1 : 0];
  first = std::min(first, frame.stamp_ns);
}

void Directions::vote(const CaptureRecord& near, const CaptureRecord& far) {
  if (senders_ == Senders::both_unsynchronized) return add_to_fit(near, far);
  const int vote = far_minus_near(near, far) >= 0 ? 1 : -1;
  flows_[slots_[near.flow]].votes += vote;
  if (far.flow != near.flow) flows_[slots_[far.flow]].votes += vote;
}

namespace {
/// A shorter delay is no evidence that two flows go opposite ways.
constexpr double kLeastDelayNs = 100;
}  // namespace

void Directions::DelayFit::add(double seconds, double side, double difference) {
  n += 1;
  t += seconds;
  tt += seconds * seconds;
  s += side;
  st += side * seconds;
  y += difference;
  ty += seconds * difference;
  sy += side * difference;
  if (n > 1 && side != last_side) {
    const double twice = (difference - last_difference) * side;
    ++neighbours;
    positive += twice > 2 * kLeastDelayNs;
    negative += twice < -2 * kLeastDelayNs;
  }
  last_side = side;
  last_difference = difference;
}

int Directions::DelayFit::sign() const {
  if (std::abs(s) == n) return 0;
  constexpr std::int64_t kEnough = 8;
  if (neighbours >= kEnough && 5 * positive >= 4 * neighbours) return 1;
  if (neighbours >= kEnough && 5 * negative >= 4 * neighbours) return -1;
  // Removes offset and drift from the sides and from the differences. The covariance of the rest
  // has the sign of the delay.
  const double spread = tt - t * t / n;
  const double side_drift = spread > 0 ? (st - s * t / n) / spread : 0;
  const double variance = n - s * s / n - side_drift * (st - s * t / n);
  const double covariance = sy - s * y / n - side_drift * (ty - t * y / n);
  if (std::abs(covariance) <= kLeastDelayNs * variance) return 0;
  return covariance > 0 ? 1 : -1;
}

void Directions::add_to_fit(const CaptureRecord& near, const CaptureRecord& far) {
  Flow& flow = flows_[slots_[near.flow]];
  ++flow.votes;  // for now: number of matches
  if (far.flow != near.flow || &flow == flows_.data()) return;
  if (!first_) first_ = {near.stamp_ns, far.stamp_ns};
  const bool forward = flow.pair[0] < flow.pair[1];
  const auto [first_near, first_far] = *first_;
  const double seconds = static_cast<double>(stamp_difference(near.stamp_ns, first_near)) / 1e9;
  const double difference = static_cast<double>(far_minus_near(near, far)) -
                            static_cast<double>(stamp_difference(first_far, first_near));
  fits_[forward ? flow.pair : Pair{flow.pair[1], flow.pair[0]}].add(seconds, forward ? 1 : -1,
                                                                    difference);
}

void Directions::vote_by_fits() {
  for (Flow& flow : std::span(flows_).subspan(1)) {
    const bool forward = flow.pair[0] < flow.pair[1];
    const auto fit = fits_.find(forward ? flow.pair : Pair{flow.pair[1], flow.pair[0]});
    const int sign = fit == fits_.end() ? 0 : fit->second.sign();
    if (sign != 0 && (sign > 0) != forward) flow.votes = -flow.votes;
  }
}

std::int64_t Directions::votes_of(const Pair& pair) const {
  const auto at = pair_votes_.find(pair);
  return at == pair_votes_.end() ? 0 : at->second;
}

void Directions::decide_flow(Flow& flow) const {
  const std::int64_t pair = votes_of(flow.pair), opposite = votes_of({flow.pair[1], flow.pair[0]});
  if (flow.votes != 0) {
    flow.goes_far = flow.votes > 0;
  } else if (flow.one_point() && flow.intact) {
    flow.goes_far = flow.frames[1] == 0;
    flow.doubtful = pair == 0 && opposite != 0 && (opposite > 0) == flow.goes_far;
  } else if (pair != 0) {
    flow.goes_far = pair > 0;
  } else if (opposite != 0) {
    flow.goes_far = opposite < 0;
  } else {
    flow.goes_far = flow.first[0] <= flow.first[1];
  }
}

void Directions::decide(Records near, Records far, std::span<const std::uint32_t> far_of) {
  if (senders_ == Senders::near) return;
  if (senders_ == Senders::both_unsynchronized) vote_by_fits();
  for (const Flow& flow : std::span(flows_).subspan(1)) pair_votes_[flow.pair] += flow.votes;
  for (const auto& [pair, votes] : pair_votes_) {
    const std::int64_t opposite = votes_of({pair[1], pair[0]});
    one_way_ = one_way_ || (votes > 0 && opposite > 0) || (votes < 0 && opposite < 0);
  }
  bool doubtful = false;
  for (Flow& flow : std::span(flows_).subspan(1)) {
    decide_flow(flow);
    doubtful = doubtful || flow.doubtful;
  }
  if (doubtful && senders_ == Senders::both) judge_responses(near, far, far_of);
}

/// A response that was seen at its point before its request reached the other point was sent there.
void Directions::judge_responses(Records near, Records far, std::span<const std::uint32_t> far_of) {
  // When a request was at near and at far, by the addresses of its responses and by PSN.
  std::map<std::pair<Pair, std::uint32_t>, std::array<std::int64_t, 2>> requests;
  std::map<Pair, std::array<std::uint64_t, 2>> verdicts;  // responses too early, and in time
  for (const Flow& flow : flows_)
    if (flow.doubtful) verdicts[flow.pair] = {};
  for (std::size_t order = 0; order < far_of.size(); ++order) {
    if (far_of[order] == kNoMatch) continue;
    const CaptureRecord at_near = near[order];
    const Flow* flow = flow_of(at_near);
    if (!flow || !is_request(at_near)) continue;
    const Pair back = {flow->pair[1], flow->pair[0]};
    if (verdicts.contains(back))
      requests.try_emplace({back, at_near.psn},
                           std::array{at_near.stamp_ns, far.stamp_ns(far_of[order])});
  }
  for (const std::size_t end : {0U, 1U}) {
    for (const CaptureRecord& frame : (end == 0 ? near : far).all()) {
      const Flow* flow = flow_of(frame);
      if (!flow || !flow->doubtful || !is_answer(frame)) continue;
      const auto request = requests.find({flow->pair, frame.psn});
      if (request == requests.end()) continue;
      const std::int64_t here = request->second[end], there = request->second[1 - end];
      if (there > here) ++verdicts[flow->pair][frame.stamp_ns > there ? 1 : 0];
    }
  }
  for (Flow& flow : flows_) {
    if (!flow.doubtful) continue;
    const auto [early, in_time] = verdicts[flow.pair];
    if (early == 0 && in_time > 0) flow.goes_far = !flow.goes_far;
  }
}

const Directions::Flow* Directions::flow_of(const CaptureRecord& frame) const {
  const std::uint32_t slot = slots_[frame.flow];
  return slot == kForgotten ? nullptr : &flows_[slot];
}

bool Directions::is_stray(const CaptureRecord& frame, const CaptureRecord& other) const {
  const Flow *own = flow_of(frame), *its = flow_of(other);
  return own && its && own->votes == 0 && own->pair == its->pair;
}

bool Directions::goes_far(const CaptureRecord& near, const CaptureRecord& far) const {
  if (senders_ == Senders::near) return true;
  const Flow* flow = flow_of(near);
  if (flow) return flow->goes_far;
  return senders_ == Senders::both_unsynchronized || far_minus_near(near, far) >= 0;
}

bool Directions::goes_far(const CaptureRecord& frame, bool at_far) const {
  if (senders_ == Senders::near) return true;
  const Flow* flow = flow_of(frame);
  return flow ? flow->goes_far : !at_far;
}

}  // namespace lw::dissect

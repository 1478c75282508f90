// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: frames that came in together, one behind the other, under a rule that only lets them
// wait, are admitted as a whole.
#include <algorithm>
#include <cstring>

#include "emulator/link.h"
#include "emulator/link_impl.h"
#include "roce/plain_rocev2.h"

namespace lw::emulator {

/// Nothing that one of them may meet sets it apart from the others.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::wait_together(const Rule& rule,
                                         std::span<const Handle> frames) const noexcept {
  return rule.acts_on_batch() && frames.size() <= Rule::kMostTogether &&
         queue_room() >= frames.size() && !ledger_.wants(rule.batch_decision()) &&
         std::ranges::all_of(
             frames, [](Handle handle) { return roce::is_plain_rocev2(Frames::bytes(handle)); });
}

/// Frames side by side that wait under the same rule are a run. `blind` has all plain ones that
/// concern no event; null: there is none such.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit_in_runs(Rule* blind, std::span<const Handle> frames,
                                                std::uint64_t concerned, Instant now,
                                                std::span<Handle> dropped) noexcept {
  std::size_t drops = 0, begin = 0;
  Rule* waits = nullptr;  // the run's
  const auto end_run = [&](std::size_t end) {
    if (waits)
      drops += admit_run(*waits, frames.subspan(begin, end - begin), now, dropped.subspan(drops));
    waits = nullptr;
    begin = end;
  };
  const auto joins = [&](Rule* rule, std::size_t i) {
    if (!rule || rule == waits) return rule != nullptr;
    if (ledger_.wants(rule->batch_decision())) return false;
    end_run(i);
    waits = rule;
    return true;
  };
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Handle handle = frames[i];
    if (blind && !(concerned >> i & 1) && roce::is_plain_rocev2(Frames::bytes(handle)) &&
        joins(blind, i))
      continue;
    const roce::Envelope envelope = Frames::open(handle);
    const wire::Bth* bth = bth_of(envelope);
    const auto claim = pipeline_.claim(envelope, bth);
    if (bth && joins(pipeline_.batch_rule(claim), i)) continue;
    end_run(i);
    const Arrival arrival = arrival_of(envelope, received_++, now);
    if (!carry_out(handle, arrival, pipeline_.decide(arrival, claim), nullptr))
      dropped[drops++] = handle;
  }
  end_run(frames.size());
  return drops;
}

/// No event is aimed at any of them.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit_run(Rule& rule, std::span<const Handle> run, Instant now,
                                            std::span<Handle> dropped) noexcept {
  std::size_t drops = 0;
  for (; !run.empty(); run = run.subspan(std::min(run.size(), Rule::kMostTogether))) {
    const auto frames = run.first(std::min(run.size(), Rule::kMostTogether));
    if (queue_room() >= frames.size()) [[likely]] {
      admit_together(rule, frames, now);
      continue;
    }
    for (const Handle handle : frames) {
      const roce::Envelope envelope = Frames::open(handle);
      const Arrival arrival = arrival_of(envelope, received_++, now);
      if (!carry_out(handle, arrival, rule.decide(arrival), nullptr)) dropped[drops++] = handle;
    }
  }
  return drops;
}

/// How many of these, which rise, are as the first.
inline std::size_t alike(std::span<const Instant> releases) noexcept {
  if (releases.back() == releases.front()) return releases.size();
  return static_cast<std::size_t>(
      std::ranges::find_if(releases, [&](Instant at) { return at != releases.front(); }) -
      releases.begin());
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::admit_together(Rule& rule, std::span<const Handle> frames,
                                          Instant now) noexcept {
  static constexpr roce::Envelope kUnopened{};
  const auto releases = std::span(releases_).first(frames.size());
  rule.releases(received_, now, releases);
  const Decision decision = rule.batch_decision();
  Transit transit;
  fill(transit, {kUnopened, nullptr, received_, 0, now}, decision, 0, kNotLogged);
  Amount all{frames.size(), 0};
  all.bytes = queue_.keeps(decision.line, releases.front()) ? enter_in_trains(frames, transit)
                                                            : enter_singly(frames, transit);
  received_ += frames.size();
  queue_.push(decision.line, std::span<const Entry>(entries_).first(frames.size()), now);
  add(direction_.received, all);
  add(of(decision.rule).received, all);
}

/// `frames` frames of so many bytes from the `ahead`-th behind `like`'s on: the copy is changed, as
/// what has just been written bit by bit can't be read as a whole for some time.
inline void assign(Transit& transit, const Transit& like, std::size_t ahead, std::size_t frames,
                   std::uint32_t bytes) noexcept {
  std::memcpy(&transit, &like, sizeof transit);
  transit.skip(ahead);
  transit.set_frames(frames);
  transit.bytes = bytes;
}

/// Frames whose releases_ rise, into entries_: those that leave alike are a train. Their bytes.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::enter_in_trains(std::span<const Handle> frames,
                                                    const Transit& like) noexcept {
  const auto releases = std::span(releases_).first(frames.size());
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < frames.size();) {
    const std::size_t start = i, end = i + alike(releases.subspan(i));
    const Instant due = releases[start];
    std::uint32_t bytes = 0;
    for (; i < end; ++i) {
      const Handle handle = frames[i];
      entries_[i] = {due, handle};
      bytes += Frames::length(handle);
    }
    assign(entries_[start].transit(), like, start, end - start, bytes);
    all += bytes;
  }
  return all;
}

/// The same of frames that leave in any order.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::enter_singly(std::span<const Handle> frames,
                                                 const Transit& like) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::uint32_t bytes = Frames::length(frames[i]);
    entries_[i] = {releases_[i], frames[i]};
    assign(entries_[i].transit(), like, i, 1, bytes);
    all += bytes;
  }
  return all;
}

}  // namespace lw::emulator

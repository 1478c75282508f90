// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/trial_parts.h"

#include <algorithm>

namespace lw::gen {
namespace {

/// A part has at least so many frames if there are kMost parts: the least latency of ten is steady.
constexpr std::uint64_t kFramesInPart = 10;

std::size_t parts_for(std::uint64_t frames) noexcept {
  return std::clamp<std::uint64_t>(frames / kFramesInPart, DelayTrend::kTenths, TrialParts::kMost);
}

}  // namespace

TrialParts::TrialParts(std::uint64_t frames, Duration span)
    : parts_(parts_for(frames)),
      length_(std::max(Duration{1}, span / static_cast<std::int64_t>(parts_.size()))) {}

std::size_t TrialParts::part_of(std::uint64_t number, std::uint64_t due) const noexcept {
  return std::min<std::uint64_t>(number, due - 1) * parts_.size() / due;
}

/// The part `time` behind another, at most the last.
std::size_t TrialParts::later(std::size_t part, Duration time) const noexcept {
  return std::min(part + static_cast<std::size_t>(std::max(time, Duration{}) / length_),
                  parts_.size() - 1);
}

void TrialParts::add_latency(std::size_t part, Duration latency) noexcept {
  std::optional<Duration>& least = parts_[part].least;
  least = std::min(least.value_or(latency), latency);
}

std::optional<Duration> TrialParts::least_latency() const noexcept {
  std::optional<Duration> least;
  for (const Part& part : parts_)
    if (part.least) least = std::min(least.value_or(*part.least), *part.least);
  return least;
}

void TrialParts::stand_still(By by, std::size_t held, Duration before, Duration time) noexcept {
  (by == By::sender ? sender_ : path_).add(time);
  disturb(by, held, time);
  disturb(by, later(held, before), time);
}

void TrialParts::disturb(By by, std::size_t part, Duration time) noexcept {
  for (std::size_t i = part; i <= later(part, time + 2 * length_); ++i)
    (by == By::sender ? parts_[i].still_sender : parts_[i].still_path) = true;
}

TrialParts::Frames TrialParts::frames_in(std::size_t part,
                                         std::span<const FlowFrames> flows) const noexcept {
  const auto first_of = [&](const FlowFrames& flow, std::size_t of) {
    if (of == parts_.size()) return flow.sent;
    return std::min((of * flow.due + parts_.size() - 1) / parts_.size(), flow.sent);
  };
  std::uint64_t sent = 0;
  for (const FlowFrames& flow : flows) sent += first_of(flow, part + 1) - first_of(flow, part);
  return {.sent = sent, .lost = sent - std::min(sent, parts_[part].received)};
}

TrialParts::Frames TrialParts::disturbed(std::span<const FlowFrames> flows,
                                         Counted counted) const noexcept {
  Frames sum;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!parts_[part].disturbed(counted)) continue;
    const Frames frames = frames_in(part, flows);
    sum.sent += frames.sent;
    sum.lost += frames.lost;
  }
  return sum;
}

bool TrialParts::loses_at_random(std::span<const FlowFrames> flows,
                                 Counted counted) const noexcept {
  constexpr std::size_t kSteady = 20;
  std::size_t rest = 0, losing = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].disturbed(counted)) continue;
    ++rest;
    losing += frames_in(part, flows).lost > 0 ? 1 : 0;
  }
  return rest < parts_.size() && losing > 0 && losing * kSteady < rest;
}

bool TrialParts::mostly_disturbed(Counted counted) const noexcept {
  const auto disturbed =
      std::ranges::count_if(parts_, [&](const Part& part) { return part.disturbed(counted); });
  return 2 * static_cast<std::size_t>(disturbed) >= parts_.size();
}

TrialParts::Still TrialParts::still(Counted counted) const noexcept {
  Still sum;
  for (const auto& [counts, still] : {std::pair(counted.sender, sender_), {counted.path, path_}})
    if (counts) {
      sum.total += still.total;
      sum.longest += still.longest;
    }
  return sum;
}

DelayTrend TrialParts::trend(Counted counted) const {
  if (mostly_disturbed(counted)) counted = {};
  std::vector<PartDelay> delays;
  for (const Part& part : parts_)
    delays.push_back({.least = part.least, .disturbed = part.disturbed(counted)});
  return DelayTrend(delays);
}

}  // namespace lw::gen

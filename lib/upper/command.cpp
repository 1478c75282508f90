// SPDX-License-Identifier: BSD-3-Clause
#include "upper/command.h"

#include <algorithm>
#include <iterator>

namespace lw::upper {
namespace {

struct PartInfo {
  std::string_view name, help;
};
constexpr PartInfo kPartInfos[kParts] = {
    {"path", "packets on the way, by the connection's least round trip"},
    {"target", "the target, between a request that has arrived and its answer"},
    {"path_or_target", "path or target: the capture shows no round trip, or this ACK came later"},
    {"transfer", "data on the way, and the time between their packets"},
    {"recovery", "lost, late or refused packets that came again"},
    {"credit_wait", "a sender that waited for credits"},
    {"undecided", "cannot tell: the target, or packets that were lost before the capture point"}};

/// Whether the target's answers cross a path before they reach the point, on which they may be
/// lost.
bool is_behind_path(const PathFacts& facts) noexcept {
  constexpr int kNear = 4;
  if (!facts.to_target) return true;
  return !facts.to_host || *facts.to_target > *facts.to_host / kNear;
}

void split_delay(StorageCommand& command, const SideDelay& delay, const PathFacts& facts) noexcept {
  if (delay.at_target && delay.silence >= facts.timer && is_behind_path(facts)) {
    command.part(Part::undecided) += delay.length;
    return;
  }
  const auto& round_trip = delay.at_target ? facts.to_target : facts.to_host;
  if (delay.answers && delay.at_target && !round_trip) {
    command.part(Part::path_or_target) += delay.length;
    return;
  }
  const Duration trip = delay.answers ? round_trip.value_or(Duration{}) : Duration{};
  const Duration path = std::min(delay.length, trip);
  const Duration rest = delay.length - path;
  // An ACK that comes late shows that the path was slow, or the whole target: not which.
  const bool has_ack = delay.answers && delay.at_target;
  const Duration late = has_ack ? std::clamp(delay.to_ack - path, Duration{}, rest) : Duration{};
  command.part(Part::path) += path;
  command.part(Part::path_or_target) += late;
  command.part(delay.rest) += rest - late;
}

}  // namespace

std::string_view name_of(Part part) noexcept {
  return kPartInfos[static_cast<std::size_t>(part)].name;
}
std::string_view help_of(Part part) noexcept {
  return kPartInfos[static_cast<std::size_t>(part)].help;
}

Part StorageCommand::largest() const noexcept {
  return static_cast<Part>(
      std::distance(parts.begin(), std::max_element(parts.begin(), parts.end())));
}

void split(StorageCommand& command, const PathFacts& facts) noexcept {
  for (std::size_t i = 0; i < command.delay_count; ++i)
    split_delay(command, command.delays[i], facts);
  command.delay_count = 0;
}

}  // namespace lw::upper

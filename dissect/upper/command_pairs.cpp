// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/command_pairs.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lw::dissect {
namespace {

using upper::Part;
using upper::StorageCommand;

/// Identifies a command at any point: its requests' flow, the PSN of its request, its identifier.
/// Later commands with the same numbers are distinguished by their order.
using CommandIdentity = std::tuple<std::array<std::byte, 16>, std::array<std::byte, 16>,
                                   std::uint32_t, std::uint32_t, std::uint64_t>;

CommandIdentity command_identity(const StorageCommand& command, const analysis::Analyst& analyst) {
  const analysis::Session& session = analyst.sessions()[command.connection - 1];
  const std::uint32_t flow = session.directions[command.direction].flow;
  if (flow == analysis::QpFlow::kNone) return {};
  const analysis::QpFlowKey& key = analyst.flows()[flow].key;
  return {key.source, key.destination, key.qp, command.begin_psn, command.id};
}

/// Divides the latency at the near point by what the far point saw.
void divide_latency(FoundCommand& near, const FoundCommand& far) {
  StorageCommand& command = near.command;
  const StorageCommand& there = far.command;
  const Duration lost_on_way = command.part(Part::recovery) - command.target_recovery -
                               (there.part(Part::recovery) - there.target_recovery);
  const Duration recovery = std::max(lost_on_way, Duration{}) + there.part(Part::recovery);
  const Duration path = command.latency() - there.latency() - std::max(lost_on_way, Duration{});
  if (command.recovery_frame == 0) near.recovery_cause = far.recovery_cause;
  if (command.recovery_frame == 0) command.recovery_frame = there.recovery_frame;
  command.parts = there.parts;
  command.part(Part::recovery) = recovery;
  // What the point next to the target sees between request and answer is the target's.
  command.part(Part::target) += there.part(Part::path_or_target) + there.part(Part::undecided);
  command.part(Part::path_or_target) = command.part(Part::undecided) = {};
  command.part(Part::path) += path;
  near.far_point = far.point;
}

}  // namespace

std::set<std::uint32_t> join_points(FoundCommands& commands, const analysis::Analyst& analyst) {
  std::set<std::uint32_t> farther;
  const bool several = std::ranges::any_of(
      commands, [&](const auto& one) { return one->point != commands.front()->point; });
  if (!several) return farther;
  std::map<CommandIdentity, std::map<std::uint32_t, std::vector<std::size_t>>> seen;  // by point
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (commands[i]->command.ended)
      seen[command_identity(commands[i]->command, analyst)][commands[i]->point].push_back(i);
  std::vector<bool> joined(commands.size());
  for (auto& [identity, points] : seen) {
    if (points.size() < 2) continue;
    for (auto& [point, rows] : points)
      std::ranges::sort(rows, {}, [&](std::size_t i) { return commands[i]->command.begin_frame; });
    const auto latency = [&](const auto& entry) {
      return commands[entry.second.front()]->command.latency();
    };
    const auto near = std::ranges::max_element(points, {}, latency);
    const auto far = std::ranges::min_element(points, {}, latency);
    for (std::size_t i = 0; i < std::min(near->second.size(), far->second.size()); ++i)
      divide_latency(*commands[near->second[i]], *commands[far->second[i]]);
    for (const auto& [point, rows] : points)
      for (std::size_t i = 0; point != near->first && i < rows.size(); ++i) {
        joined[rows[i]] = true;
        farther.insert(commands[rows[i]]->command.connection);
      }
  }
  std::size_t i = 0;
  std::erase_if(commands, [&](const auto& found) {
    // What has no end at one point has none at the others.
    return joined[i++] || (!found->command.ended && farther.contains(found->command.connection));
  });
  return farther;
}

}  // namespace lw::dissect

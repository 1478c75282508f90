// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/fault_plan.h"

namespace lw::gen {
namespace {

using config::FaultKind;

/// Whether the frame can have the fault.
bool fits(FaultKind kind, const FaultPlace& place) noexcept {
  switch (kind) {
    case FaultKind::psn_gap:
    case FaultKind::duplicate_psn:
      return place.frame > 0;
    case FaultKind::first_after_first:
      return place.packet > 0;
    case FaultKind::middle_without_first:
      return place.packet == 0;
    case FaultKind::short_middle:
      return place.packet > 0 && place.packet + 1 < place.packets;
    default:
      return true;
  }
}

}  // namespace

FaultPlan::FaultPlan(const std::vector<config::Fault>& faults, std::uint64_t seed,
                     std::string_view flow_name) {
  for (const config::Fault& fault : faults) {
    const Chance chance(seed, hash_name(flow_name) ^ hash_name(name_of(fault.kind)));
    entries_.push_back({&fault, chance, Threshold(fault.rate)});
  }
}

std::optional<FaultKind> FaultPlan::next(const FaultPlace& place) noexcept {
  for (Entry& entry : entries_) {
    const auto& listed = entry.fault->frames;
    const bool due = entry.listed < listed.size() && listed[entry.listed] <= place.frame;
    if (!due && !entry.threshold.hit(entry.chance.bits(place.frame))) continue;
    if (!fits(entry.fault->kind, place)) continue;
    if (due) ++entry.listed;
    return entry.fault->kind;
  }
  return std::nullopt;
}

}  // namespace lw::gen

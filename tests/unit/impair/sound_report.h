// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "impair/report/report.h"

namespace lw::impair {

/// Ten frames in: six out, one dropped by the rule, one while the link was down, two inside.
inline Report sound_report() {
  emulator::Account rule;
  rule.name = "haul";
  rule.received = {10, 1000};
  rule.sent = {6, 600};
  rule.dropped_by_rule = {1, 100};
  rule.dropped_for_resource[std::size_t(emulator::ResourceDrop::link_down)] = {1, 100};
  rule.in_flight = {2, 200};
  DirectionReport direction;
  direction.accounting.direction = rule;
  direction.accounting.direction.name = "west-to-east";
  direction.accounting.rules = {rule};
  direction.release_error = {6, 1, 2, 3, 4, 5};
  return {.command = "run", .profile = "p", .directions = {direction}};
}

}  // namespace lw::impair

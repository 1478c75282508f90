// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report.h"

#include <algorithm>

namespace lw::impair {

bool Report::accounts_hold() const noexcept {
  return std::ranges::all_of(directions,
                             [](const DirectionReport& d) { return d.accounting.holds(); });
}

bool Report::releases_hold() const noexcept {
  return std::ranges::all_of(directions, &DirectionReport::none_left_early);
}

bool Report::stages_hold() const noexcept {
  const auto holds = [](const emulator::Check& check) { return check.holds(); };
  for (const DirectionReport& direction : directions) {
    if (!direction.events.hits.holds()) return false;
    for (const StagesReport& stages : direction.stages)
      if (!std::ranges::all_of(stages.checks, holds)) return false;
  }
  return true;
}

}  // namespace lw::impair

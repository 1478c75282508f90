// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "gen/receive/measurement.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

/// Returns what one process of a common run counted, as one line of JSON for another process of the
/// same program: every counter and histogram bucket. `received` may be null. Requires
/// finalize() of the measurement.
std::string part_text(const RunReport& sent, const Measurement* received);

/// What one process says of itself, besides its flows.
struct PartSums {
  Duration started_late{0};
  std::uint64_t missed = 0;               // frames that its ports lost before they were read
  std::optional<MeasureTotals> received;  // none: it receives nothing
};

/// The whole of a common run, put together from its parts.
struct WholeRun {
  /// `flows`: number of flows of the profile. `hosts`: by rank.
  WholeRun(std::size_t flows, std::vector<std::string> hosts, const MeasureOptions& measure);

  /// Adds a part: the counters of flow i of the part are those of flow ids[i]. Streams that several
  /// processes received are rows of their own. Error: the text is not a part of these flows.
  Result<void> add(std::size_t rank, std::string_view text, const std::vector<std::uint32_t>& ids);

  RunReport sent;
  Measurement received;
  std::vector<std::optional<PartSums>> parts;  // by rank, as far as added
  bool receives = false;                       // a part has a measurement
};

}  // namespace lw::gen

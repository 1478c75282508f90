// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "sim/perf.h"

namespace lw::gen {

/// How many buffers a blast needs over a distance: the fewest with which its steady rate, packet by
/// packet, is `kFull` of what the line carries in messages of that size.
struct BufferNeed {
  double kilometres = 0;
  std::uint32_t size = 0;  // bytes of a message
  std::uint32_t buffers = 0;
  std::uint32_t formula = 0;  // by kFull x (round trip + message's time) / message's time
  double gbps = 0;            // with that many
};

inline constexpr double kFull = 0.95;

/// The study's open question: fibre of 1 km to 10,000 km (group index 1.4682) in place of the
/// configuration's path, in messages of 4 KiB, 64 KiB and 1 MiB. Prints the table (or JSON, a line
/// a row) as it goes, and writes buffers.csv and buffers.svg into the folder, which is made.
/// Errors (environment): the folder.
Result<void> study_buffers(const sim::PerfConfig& config, const std::string& folder, bool json);

/// Both axes logarithmic, a line a message size. `needs` is in order of size, then distance.
std::string buffers_svg(const std::vector<BufferNeed>& needs, const std::string& title);

}  // namespace lw::gen

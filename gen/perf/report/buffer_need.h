// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "perf/config.h"

namespace lw::gen {

/// The number of buffers that a blast needs over a distance: the smallest number with which its
/// simulated steady rate is `kFull` of the link's goodput for messages of that size.
struct BufferNeed {
  double kilometres = 0;
  std::uint32_t size = 0;  // message size, in bytes
  std::uint32_t buffers = 0;
  std::uint32_t formula = 0;  // kFull x (round trip + message's time) / message's time
  double gbps = 0;            // steady rate with `buffers`

  static const FigureTable& figures();
};
inline constexpr JsonOutput kBufferNeedOutput{
    .name = "buffer_need", .title = "roce-gen sim --study --json", .figures = &BufferNeed::figures};

inline constexpr double kFull = 0.95;

/// Returns the files that find_buffer_need() writes into `folder`: buffers.csv, buffers.svg.
std::array<std::string, 2> buffer_files(const std::string& folder);

/// Computes BufferNeed over 1 km to 10,000 km of fibre (group index 1.4682) instead of the
/// configured path, with messages of 4 KiB, 64 KiB and 1 MiB. Prints a table (or a line of JSON per
/// row) as it goes, and writes buffers.csv and buffers.svg into `folder`, which it creates.
/// Errors (environment): the folder or a file can't be written.
Result<void> find_buffer_need(const perf::PerfConfig& config, const std::string& folder, bool json);

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"
#include "gen/replay/replay_source.h"

namespace lw::gen {

/// What became of a replay.
struct ReplayReport {
  std::uint64_t frames = 0, bytes = 0;  // sent; bytes as a capture shows them, without FCS
  std::uint64_t wire_bytes = 0;         // with preamble, FCS and gap
  std::uint64_t not_sent = 0;           // given up: the port took no more
  Duration elapsed{0};  // to where the last frame is due in a file, to the end in real time
  Duration latest{0};   // how late the latest frame was handed to the port; 0 in a file
  ReplayTally source;

  void count(std::size_t size) noexcept;
};

/// Lines for people.
std::string to_text(const ReplayReport& report);
/// One line of JSON.
std::string to_json(const ReplayReport& report);

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "gen/perf/options/perftest_options.h"

namespace lw::gen::perftest {

/// A program of perftest and its defaults.
struct PerftestProgram {
  std::string_view name;
  std::string_view operation;
  bool latency = false;
  std::string_view size, iterations;
};

/// An option of a line with its value.
struct GivenOption {
  const PerftestOption* option;
  std::string value;
};

struct PerftestLine {
  const PerftestProgram* program;
  std::vector<GivenOption> given;
  std::string server;   // empty: none
  std::string skipped;  // words before the program's name, and the path to it: "sudo", "./"

  [[nodiscard]] const std::string* value(std::string_view name) const noexcept {
    for (const GivenOption& each : given)
      if (each.option->name == name) return &each.value;
    return nullptr;
  }
};

/// Reads a line as getopt_long() does: -q4, -q 4, --qp=4, --qp 4, -aF, and unique beginnings of
/// long names (--bidir). Words before the program's name set its environment (sudo, taskset -c 3,
/// /usr/bin/): they are skipped. Errors (usage): an unknown program or option, an ambiguous
/// beginning, a missing value, a second server.
Result<PerftestLine> read_line(std::span<const std::string> words);
/// Reads the options behind the first word as those of any program: nothing is left out of it.
Result<PerftestLine> read_options(std::span<const std::string> words);

}  // namespace lw::gen::perftest

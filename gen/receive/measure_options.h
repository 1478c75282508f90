// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <fstream>
#include <string>

#include <CLI/CLI.hpp>

#include "gen/commands/options.h"
#include "gen/receive/measure_choices.h"

namespace lw::gen {

/// "all", "none" or N of 1 in N.
inline std::uint32_t icrc_sample(const std::string& text) {
  if (text == "all") return 1;
  if (text == "none") return 0;
  std::uint32_t every = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
  if (error == std::errc{} && end == text.data() + text.size() && every > 0) return every;
  throw CLI::ValidationError("--check-icrc",
                             "expected all, none, or N to check 1 in N, found \"" + text + "\"");
}

inline void add_watch_options(CLI::App* command, WatchOptions& watch) {
  command
      ->add_option("--series", watch.series,
                   "Write a time series into this CSV file: a row for each flow and interval")
      ->type_name("FILE");
  const auto read = [&watch](const std::string& text) {
    auto time = parse_duration(text);
    if (!time) time = parse_duration(text + "s");
    if (!time || *time < std::chrono::milliseconds(10)) {
      throw CLI::ValidationError("--interval",
                                 "expected a time of at least 10ms, found \"" + text + "\"");
    }
    watch.interval = *time;
  };
  command
      ->add_option_function<std::string>("--interval", read,
                                         "Of the time series and the screen; 1s")
      ->type_name("TIME");
  command->add_flag("--quiet", watch.quiet, "Show nothing while it runs");
}

inline void add_measure_options(CLI::App* command, MeasureChoices& choices) {
  command
      ->add_option_function<std::string>(
          "--check-icrc",
          [&choices](const std::string& text) { choices.measure.icrc_every = icrc_sample(text); },
          "Check the ICRC of all frames (the default), of 1 in N, or of none")
      ->type_name("all|N|none");
  command->add_flag("--join", choices.measure.join,
                    "Signed flows are under way already: count from the first frame that comes");
  command
      ->add_option("--histogram", choices.histogram,
                   "Write the latency histograms into this CSV file")
      ->type_name("FILE");
}

/// Writes a whole text into a file.
inline Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.good()) return {};
  return fail(path + ": can't be written", ExitCode::environment);
}

}  // namespace lw::gen

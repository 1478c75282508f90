// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/command_line.h"
#include "gen/report/progress_display.h"
#include "gen/stats/run_stats.h"
#include "nic/stamp_clock.h"

namespace lw::gen {

/// Reads the value of --interval: a time of at least 10 ms; a bare number is in seconds.
Parsed<Duration> read_interval(std::string_view text);

// Options that several commands share.
void add_progress_options(app::Options& options, ProgressOptions& progress);
void add_measure_options(app::Options& options, MeasureChoices& choices);
void add_limit_options(app::Options& options, Limits& limits);
/// Adds --clock.
void add_clock_option(app::Options& options, nic::ClockKind& clock);
/// Adds --wait-link. `usual`: its default, as text.
void add_link_option(app::Options& options, std::optional<Duration>& timeout,
                     const std::string& usual);
/// Adds --pcap, the capture file of sent frames.
void add_pcap_option(app::Options& options, std::string& pcap);
/// Adds --set, changes of a flow profile.
void add_set_option(app::Options& options, std::vector<std::string>& changes);
void add_report_options(app::Options& options, bool& json, bool& verbose);

}  // namespace lw::gen

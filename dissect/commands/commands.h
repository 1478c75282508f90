// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "dissect/fields/frame_source.h"
#include "dissect/points/capture_points.h"

namespace lw::dissect {

app::Command list_command();
app::Command verify_command();
app::Command summary_command();
app::Command connections_command();
app::Command messages_command();
app::Command anomalies_command();
app::Command annotate_command();
app::Command explain_command();
app::Command report_command();
app::Command extract_command();
app::Command compare_command();
app::Command fields_command();

/// Adds --max-flows, which bounds memory.
void add_flow_limit(app::Options& options, std::size_t& most_flows);
/// What a command reads: the frames of these captures that pass the filter. Several captures are
/// read as one, in the order of time.
struct CaptureInput {
  std::vector<std::string> files;  // one or more
  std::string filter;
  bool filter_names = false, follow = false, no_tunnels = false;
  std::vector<std::uint16_t> roce_ports = {};  // UDP ports that carry RoCEv2, beside 4791
  std::string points = {};                     // of CapturePoints::decide()
  bool apart = false;                          // of AnalysisPlan
  TimeWindow window = {};
  std::optional<TimeStyle> time = {};    // of rows of text; nothing: as the command has it
  std::optional<double> link_rate = {};  // b/s, of the slowest link of the way
};
/// Adds FILE..., --filter, --filter-names, --from, --to, -Y, --follow, --no-tunnels and
/// --roce-port.
void add_capture_options(app::Options& options, CaptureInput& input);
/// Adds all of these but FILE and --follow, for a command that reads one file twice.
void add_reading_options(app::Options& options, CaptureInput& input);
/// Like add_capture_options(), for a command that also runs without a capture.
void add_optional_capture(app::Options& options, CaptureInput& input);
/// Adds -Y, the condition of a window.
void add_where_option(app::Options& options, TimeWindow& window);
/// Adds --from and --to.
void add_window_options(app::Options& options, TimeWindow& window);
/// Adds --time, of rows of text.
void add_time_option(app::Options& options, std::optional<TimeStyle>& time);
/// Adds --time, of moments in sentences.
void add_moment_option(app::Options& options, TimeStyle& time);
/// Adds --points.
void add_points_option(app::Options& options, std::string& points);
/// Adds --link-rate, for a command that answers whether there was congestion.
void add_link_rate_option(app::Options& options, std::optional<double>& rate);
/// Adds --jobs, the `jobs` of analyse().
void add_jobs_option(app::Options& options, unsigned& jobs);
/// Opens the captures. --follow ends at a signal. Errors: those of FrameSource::open(), and
/// --follow with several files.
Result<FrameSource> open_input(const CaptureInput& input);
/// Decides the capture points of a source that was opened and not read; see
/// CapturePoints::decide(). Says on standard error what was decided, a line each.
Result<CapturePoints> decide_points(FrameSource& source, const CaptureInput& input);
/// Adds --no-tunnels, --roce-port, or --follow.
void add_port_option(app::Options& options, std::vector<std::uint16_t>& ports);
void add_tunnel_option(app::Options& options, bool& no_tunnels);
void add_follow_option(app::Options& options, bool& follow);
/// Error: --follow with several files.
Result<void> check_follow(bool follow, const std::vector<std::string>& files);
/// The command that lists evidence about these captures: "anomalies --kind nak" as a line of a
/// shell.
std::string evidence_command(const CaptureInput& input, const std::string& show);
/// The files as a report names them: "a.pcap", "a.pcap, b.pcap".
std::string names_of(const std::vector<std::string>& files);

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/command_line.h"
#include "core/error.h"
#include "core/time.h"
#include "gen/perf/options/endpoint_options.h"
#include "sim/perf.h"
#include "transport/qp_config.h"

namespace lw::gen {

/// Headings of DCQCN's options: the reaction point's apply where data is sent, the notification
/// point's where data arrives.
inline constexpr const char* kReactionPoint = "DCQCN reaction point (the sender of data)";
inline constexpr const char* kNotificationPoint = "DCQCN notification point (the receiver of data)";

/// --transport: the service of a QP.
void add_transport_option(app::Options& options, transport::QpConfig& config);

/// A QP's congestion control: kind, fixed rate, and DCQCN's parameters.
void add_congestion_options(app::Options& options, transport::QpConfig& config);

/// DCQCN's parameters alone, with the names and units of the NIC's configuration tool.
void add_dcqcn_options(app::Options& options, transport::DcqcnConfig& dcqcn);

/// The options that perf, plan and experiment share (operation, windows, NIC, path, recovery), and
/// those of a run alone (pattern, length, receives, congestion control).
struct PerfOptions {
  std::string operation = "write";
  bool immediate = false;
  std::string path;  // a path profile
  std::optional<Duration> delay;
  std::optional<double> km;
  std::string pattern = "bw";  // or lat, ping, blast
  std::uint32_t buffers = 8;   // of a blast
  std::optional<double> loss, mark;
  std::optional<std::uint64_t> path_buffer;
  unsigned timeout = 18;  // 1.07 s, as perftest's own for long paths: no expiry without a loss
  unsigned retries = 7;
  bool selective = false;
  sim::PerfConfig config;
};

/// Adds the options that a plan has too; perf_config() evaluates them.
void add_perf_options(app::Options& list, PerfOptions& options);
/// Adds the options of a run alone.
void add_run_options(app::Options& list, PerfOptions& options);

/// Whether runs of different seeds differ.
[[nodiscard]] bool by_chance(const sim::PerfConfig& config) noexcept;

/// The run that the options describe, with its path loaded; only `simulated` runs have a path.
/// Errors: of the path profile, a size out of range, options that exclude each other.
Result<sim::PerfConfig> perf_config(const PerfOptions& options, bool simulated = true);

}  // namespace lw::gen

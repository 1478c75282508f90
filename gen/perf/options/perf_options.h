// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "core/error.h"
#include "core/time.h"
#include "gen/perf/options/endpoint_options.h"
#include "perf/config.h"
#include "transport/qp_config.h"

namespace lw::gen {

/// Headings of DCQCN's options. Options of the reaction point apply where data is sent, those of
/// the notification point where data arrives.
inline constexpr const char* kReactionPoint = app::kReactionHeading;
inline constexpr const char* kNotificationPoint = app::kNotificationHeading;

/// Reads the length of a run, which is above 0; a number without a unit is in seconds, as
/// perftest's.
Parsed<Duration> read_run_length(std::string_view text);

/// Reads the size of a message in bytes; K, M and G are binary, as in perftest. Error: above 2^31,
/// the longest message of RDMA.
Parsed<std::uint64_t> read_message_size(std::string_view text);

/// The word of --op: "compare-swap".
std::string_view operation_word(wire::Operation operation) noexcept;

/// Adds --op and --imm.
void add_operation_options(app::Options& options, perf::PerfConfig& config);

/// Adds --margin.
void add_margin_option(app::Options& options, perf::PerfConfig& config);

/// Adds --transport: the service of a QP.
void add_transport_option(app::Options& options, transport::QpConfig& config);

/// Adds a QP's congestion control: kind, fixed rate, and DCQCN's parameters.
void add_congestion_options(app::Options& options, transport::QpConfig& config);

/// Adds DCQCN's parameters only, with the names and units of the NIC's configuration tool.
void add_dcqcn_options(app::Options& options, transport::DcqcnConfig& dcqcn);

/// The options that perf, plan and experiment share (operation, windows, NIC, path, recovery), and
/// those of a run (pattern, length, receives, congestion control).
struct PerfOptions {
  std::string path;  // path or impair profile
  std::optional<Duration> delay;
  std::optional<double> km;
  perf::PerfPattern pattern{};
  std::uint32_t buffers = 8;  // number of buffers of a blast
  std::optional<double> loss, mark;
  std::optional<std::uint64_t> path_buffer;
  unsigned timeout = 18;  // 1.07 s, perftest's value for long paths: doesn't expire without a loss
  unsigned retries = 7;
  bool selective = false;
  perf::PerfConfig config;

  /// True for a pattern of several processes.
  [[nodiscard]] bool common() const noexcept {
    return pattern == perf::PerfPattern::incast || pattern == perf::PerfPattern::all_to_all;
  }
};

/// Adds the options that a plan has too. perf_config() evaluates them.
void add_perf_options(app::Options& list, PerfOptions& options);
/// Adds the options that only a run has.
void add_run_options(app::Options& list, PerfOptions& options);

/// Returns the run that the options describe, with its path loaded; only `simulated` runs have a
/// path. Errors: those of the path profile, a size out of range, options that exclude each other.
Result<perf::PerfConfig> perf_config(const PerfOptions& options, bool simulated = true);

/// Prints on standard error what the name of --path stands for.
void say_path(const PerfOptions& options);

}  // namespace lw::gen

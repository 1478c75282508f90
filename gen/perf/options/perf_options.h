// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "core/error.h"
#include "core/time.h"
#include "gen/perf/options/endpoint_options.h"
#include "perf/config.h"
#include "transport/qp_config.h"

namespace lw::gen {

/// Parameters of DCQCN that a command line sets, by their keys: rows of DcqcnConfig::figures().
using ParameterKeys = std::vector<std::string_view>;

/// Reads the length of a run, which is above 0; a number without a unit is in seconds, as
/// perftest's.
Parsed<Duration> read_run_length(std::string_view text);

/// Reads the size of a message in bytes; K, M and G are binary, as in perftest. Error: above 2^31,
/// the longest message of RDMA.
Parsed<std::uint64_t> read_message_size(std::string_view text);

/// Adds --op and --imm.
void add_operation_options(app::Options& options, perf::PerfConfig& config);

/// Adds --margin.
void add_margin_option(app::Options& options, perf::PerfConfig& config);

/// Adds --transport: the service of a QP.
void add_transport_option(app::Options& options, transport::QpConfig& config);

/// Adds a QP's congestion control: kind, fixed rate, and add_congestion_profile().
void add_congestion_options(app::Options& options, transport::QpConfig& config);
/// Adds --cc, a profile of DCQCN's parameters.
void add_congestion_profile(app::Options& options, transport::DcqcnConfig& dcqcn);
/// Adds --set cc.KEY=VALUE. It applies after --cc, which is added before it: options are read in
/// the order in which they were added. `keys`: gets the keys that are set; null: nobody asks.
void add_parameter_option(app::Options& options, transport::DcqcnConfig& dcqcn,
                          ParameterKeys* keys = nullptr);

/// A run with a local ACK timeout of 1.07 s, perftest's value for long paths: it doesn't expire
/// without a loss.
inline perf::PerfConfig patient_config() {
  perf::PerfConfig config;
  config.qp.timeout = 18;
  return config;
}

/// READs and atomics that a simulated responder answers at once unless an option says more: those
/// of a NIC.
inline constexpr std::uint32_t kReadsOfANic = 16;

/// A simulated run before any option.
inline perf::PerfConfig default_config() {
  perf::PerfConfig config = patient_config();
  config.qp.max_dest_rd_atomic = kReadsOfANic;
  return config;
}

/// The options that perf, sim, plan and experiment share (operation, windows, recovery), those of a
/// simulation (path, NIC, receives), and those of a run (pattern, length, congestion control).
struct PerfOptions {
  std::string path;  // path or impair profile
  std::string nic;   // profile of the simulated NICs
  std::optional<Duration> delay;
  std::optional<double> km;
  perf::PerfPattern pattern{};
  std::uint32_t buffers = 8;  // number of buffers of a blast
  std::optional<double> loss, mark;
  std::optional<std::uint64_t> path_buffer;
  bool selective = false;
  ParameterKeys parameters;  // that --set sets
  perf::PerfConfig config = patient_config();

  /// True for a pattern of several processes.
  [[nodiscard]] bool common() const noexcept { return pattern >= perf::PerfPattern::incast; }
};

// Add options, which perf_config() evaluates.

/// Messages, windows and recovery: of perf, sim and plan.
void add_transfer_options(app::Options& list, PerfOptions& options);
/// The simulated path and hosts: of sim and plan.
void add_path_options(app::Options& list, PerfOptions& options);
/// Pattern, length and congestion control: of perf and sim.
void add_run_options(app::Options& list, PerfOptions& options);
/// What only a simulated run has: of sim.
void add_simulated_run_options(app::Options& list, PerfOptions& options);
/// The parameters of an experiment: all of the above, and each parameter of DCQCN.
void add_simulation_parameters(app::Options& list, PerfOptions& options);

/// Returns the run that the options describe, with its path loaded; only `simulated` runs have a
/// path. Errors: those of the path profile, a size out of range, options that exclude each other.
Result<perf::PerfConfig> perf_config(const PerfOptions& options, bool simulated = true);

/// Prints on standard error what the name of --path stands for.
void say_path(const PerfOptions& options);

}  // namespace lw::gen

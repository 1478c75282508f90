// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/command_line.h"
#include "core/error.h"
#include "core/time.h"
#include "gen/arp/arp_responder.h"
#include "nic/idle.h"
#include "sim/perf.h"
#include "transport/qp_config.h"

namespace lw::gen {

/// Where an endpoint runs: options that perf and respond share.
struct EndpointOptions {
  std::string port;  // PORT; empty: none was given
  std::string address, mac;
  std::string pcap;
  std::uint16_t service = 18515;  // perftest's
  Duration wait = std::chrono::seconds(10);
  IdleMode idle = IdleMode::adaptive;
  bool verbose = false;
};

void add_endpoint_options(app::Options& options, EndpointOptions& endpoint);

/// The address and MAC address that were given; where empty, those of the benchmark's host number
/// `host` (1, 2), in the address family of `like`. Errors: not an address.
Result<OwnAddress> address_of(const EndpointOptions& options, unsigned host,
                              const std::optional<wire::IpAddress>& like = std::nullopt);

/// Readers of option values. The error says what was expected and found.
Parsed<wire::IpAddress> read_ip(std::string_view text);
Parsed<wire::MacAddress> read_mac(std::string_view text);

Result<wire::IpAddress> read_ip(const std::string& option, const std::string& text);
Result<wire::MacAddress> read_mac(const std::string& option, const std::string& text);

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

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/impair/profile.h"
#include "config/toml/client_files.h"
#include "core/error.h"
#include "core/output.h"
#include "impair/datapath/direction_report.h"
#include "nic/eal.h"
#include "nic/frame_arena.h"
#include "nic/idle.h"
#include "nic/pool.h"
#include "nic/port.h"
#include "report/rate_history.h"
#include "web/site.h"

namespace lw::impair {

/// Options of a run.
struct RunConfig {
  nic::PortSpec west, east;
  std::optional<Duration> duration;          // nothing: until a signal, or the end of all files
  std::optional<Duration> until_idle;        // stop after this time without input
  Duration wait = std::chrono::seconds(30);  // longest wait for both links
  std::optional<std::string> ledger;         // ledger file
  std::optional<std::string> capture;        // pcapng file of frames in and out
  std::uint32_t capture_bytes = 0;           // bytes kept of each frame; 0: all
  Rotation rotation = {};                    // of the capture
  std::optional<std::string> ready_file;     // created once both links are up
  std::optional<config::OnLinkLoss> on_link_loss;  // replaces the profile's
  IdleMode idle = IdleMode::adaptive;
  unsigned cores = 1;                      // 2: one per direction
  std::optional<int> core;                 // CPU to pin to
  std::optional<int> second_core;          // CPU of the second thread
  bool verbose = false;                    // show DPDK's log
  std::string live;                        // title of the live view; empty: progress lines
  std::optional<std::string> control;      // Unix socket for `roce-impair ctl`
  std::optional<std::string> metrics;      // address of the Prometheus metrics server
  web::SiteOptions web;                    // options of the live page
  bool web_read_only = false;              // the page can't change the run
  config::ClientFiles web_files = {};      // files that requests of the page may name
  bool telemetry = false;                  // offer /impair/stats and others in DPDK's telemetry
  std::string file_prefix = {};            // of DPDK's runtime directory; empty: a unique one
  report::RateHistory* history = nullptr;  // of rate_history(), to be filled; null: none
};

/// EAL, two ports and the memory of their frames. Members are destroyed from the last to the first:
/// a port before its pool, all before EAL.
struct Ports {
  nic::Eal eal;
  nic::Pool pool;
  std::array<std::optional<nic::FrameArena>, 2> arenas;  // by direction; see Sizing
  nic::Port west, east;
};

/// Starts EAL, and opens both ports. Errors (usage, environment) name the port and the remedy.
Result<Ports> open_ports(const config::ImpairProfile& profile, const RunConfig& config);

/// Returns the counters of both devices. `losses`: link losses of the west port and the east port.
std::vector<PortReport> port_reports(const Ports& ports, const std::array<LinkLosses, 2>& losses,
                                     const OwnLossTimes& times);

/// Samples what the ports lost until `now`, since the start.
void sample_losses(OwnLossTimes& times, const Ports& ports, Duration now);

}  // namespace lw::impair

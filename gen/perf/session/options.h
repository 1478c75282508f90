// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/idle_mode.h"
#include "core/time.h"
#include "gen/arp/arp_responder.h"

namespace lw::gen {

/// Where an endpoint lives, as perf and respond ask alike.
struct EndpointOptions {
  std::string port;  // PORT; empty: none was given
  std::string address, mac;
  std::string pcap;
  std::uint16_t service = 18515;  // perftest's
  Duration wait = std::chrono::seconds(10);
  IdleMode idle = IdleMode::adaptive;
  bool verbose = false;
};

void add_endpoint_options(CLI::App* command, EndpointOptions& options);

/// An address and a MAC as typed; those of the benchmark's n-th host (1, 2) where they are empty,
/// in the family of `like` where that is given. Errors: not an address.
Result<OwnAddress> address_of(const EndpointOptions& options, unsigned host,
                              const std::optional<wire::IpAddress>& like = std::nullopt);

Result<wire::IpAddress> read_ip(const std::string& option, const std::string& text);
Result<wire::MacAddress> read_mac(const std::string& option, const std::string& text);

}  // namespace lw::gen

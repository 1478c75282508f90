// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "core/error.h"
#include "core/time.h"
#include "gen/arp/arp_responder.h"
#include "nic/idle.h"
#include "roce/class_settings.h"

namespace lw::gen {

/// Heading of the options of a class.
inline constexpr const char* kClassOptions = app::kClassHeading;

/// The class of traffic that options describe.
struct ClassOptions {
  roce::ClassOfTraffic given;        // by options of their own
  std::string profile;               // --class; empty: none
  roce::ClassOfTraffic layout = {};  // of another profile that the command reads
};
/// Adds --class and an option for each of roce::class_settings().
void add_class_options(app::Options& options, ClassOptions& traffic);
/// Loads the profile; what was given by an option replaces its values. Errors (usage): those of
/// the profile.
Result<roce::ClassOfTraffic> load_class(const ClassOptions& traffic);

/// As load_class() for a device. Errors (usage): also what verbs do not set: classes of kinds, a
/// VLAN, a UDP source port.
Result<roce::ClassOfTraffic> load_device_class(const ClassOptions& traffic);
/// Prints a warning on stderr if a device's packets will not have the hop limit that is asked for.
void warn_of_hop_limit(const roce::ClassOfTraffic& traffic);

/// Payload of a packet that the buffers of a port hold unless more is asked for, in bytes.
inline constexpr std::uint32_t kUsualPacketPayload = 9000;

/// Options of an endpoint that perf, respond and telemetry share.
struct EndpointOptions {
  std::string port;  // PORT; empty: none was given
  std::string address, mac;
  std::string pcap;
  std::uint16_t service = 18515;  // perftest's
  Duration wait = std::chrono::seconds(10);
  IdleMode idle = IdleMode::adaptive;
  ClassOptions traffic;
  std::uint32_t packet_payload = kUsualPacketPayload;  // most of a packet, in bytes
  bool rocev1 = false;
  bool verbose = false;
};

void add_endpoint_options(app::Options& options, EndpointOptions& endpoint);
/// The class of the endpoint's frames. Errors (usage): those of load_class(); RoCEv1 has no ECN and
/// no UDP; priorities need a VLAN.
Result<roce::ClassOfTraffic> traffic_of(const EndpointOptions& options);

/// Returns the configured IP and MAC address. Missing ones are those of benchmark host number
/// `host` (1, 2), in the address family of `like`. Errors: not an address.
Result<OwnAddress> address_of(const EndpointOptions& options, unsigned host,
                              const std::optional<wire::IpAddress>& like = std::nullopt);

/// Readers of option values. Errors state what was expected and what was found.
Parsed<wire::IpAddress> read_ip(std::string_view text);
Parsed<wire::MacAddress> read_mac(std::string_view text);

Result<wire::IpAddress> read_ip(const std::string& option, const std::string& text);
Result<wire::MacAddress> read_mac(const std::string& option, const std::string& text);

/// A service on a host: "192.0.2.2:7174", "[2001:db8::2]:7174" or "host:7174".
struct HostService {
  wire::IpAddress ip;
  std::uint16_t service = 0;
};

/// Resolves a host name with the system's resolver. Errors: another form, a name without an
/// address.
Result<HostService> read_host_service(const std::string& option, const std::string& text);

}  // namespace lw::gen

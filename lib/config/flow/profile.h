// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/flow/fault.h"
#include "config/flow/message.h"
#include "config/flow/traffic.h"
#include "core/error.h"
#include "core/expectation.h"
#include "roce/compose.h"
#include "roce/message.h"

namespace lw::config {

/// Mean cost of one message of a flow, without deliberate faults.
struct MessageMeans {
  double frames = 0;
  double wire_bytes = 0;     // with preamble, FCS, padding to Ethernet's minimum and gap
  double payload_bytes = 0;  // with signatures, without pad
};

/// Run and clock of a sender, as its signatures carry them (wire/signature.h).
struct Origin {
  std::uint16_t run = 0;
  std::uint8_t clock = 0;
};

/// A process of a run of several, which mpirun started: a `[[host]]`.
struct RankHost {
  std::string name;                                   // of a machine, unless `rank` is given
  std::optional<std::uint16_t> rank = {};             // number of the process
  std::vector<std::string> ports = {}, receive = {};  // to send to, to measure at
  std::string at = {};                                // "x.toml:3:1", for errors
};

/// Traffic of one QP: `messages` messages, `repeat` times. A [[flow]] of several QPs becomes as
/// many consecutive Flows.
struct Flow {
  std::string name;               // of the [[flow]]; see full_name()
  std::uint32_t id = 0;           // number in the profile, from 0; carried in the signature
  std::uint32_t qp = 0, qps = 1;  // index of this QP in its [[flow]], and their number
  roce::FrameFields frame;        // fields of the first frame, except those that `message` sets
  roce::MessageFields message;    // the first message; the largest if sizes vary
  MessageSizes sizes = MessageSizes::fixed(0);  // if sizes don't vary, equal to message.length
  std::uint64_t messages = 1000;
  std::optional<std::uint64_t> repeat = 1;  // nullopt: until stopped
  bool counted = false;                     // messages or repeat are written in the profile

  /// Message i (from 0, over all repetitions) has the address va + (i % va_slots) * va_step.
  std::uint64_t va_slots = 1, va_step = 0;
  std::optional<std::uint64_t> region;  // bytes, after which addresses start again
  std::uint32_t immediate_step = 0;     // message i carries immediate + i * immediate_step

  MessageMeans means;       // see means_of(); all 0 if not computed
  Rate rate;                // of this QP
  std::uint32_t burst = 1;  // frames sent back to back at the same mean rate; kWholeMessage: a
                            // message at a time
  ArrivalProcess arrival = ArrivalProcess::constant;
  Duration on{0}, off{0};              // of on_off; on > 0
  Duration start_after{0};             // since the start of the run
  std::optional<Duration> stop_after;  // since the start of the run; later frames are not sent

  /// Resolve the destination MAC address by ARP or NDP before sending: the gateway's address, or
  /// without one the destination's.
  bool resolve_mac = false;
  std::optional<wire::IpAddress> gateway;

  Payload payload;
  bool signature = false;  // wire/signature.h at the start of each payload large enough for it
  Origin origin;           // set by the program that sends, not by the profile
  std::shared_ptr<const std::vector<Fault>> faults;  // of all QPs of the [[flow]]; null: none

  std::uint32_t host = kAnyHost;  // index in FlowProfile::hosts

  static constexpr std::uint32_t kWholeMessage = 0;
  static constexpr std::uint32_t kAnyHost = UINT32_MAX;  // of a run of several: any that sends
};

/// "web", or "web[17]" for a flow of several QPs.
std::string full_name(const Flow& flow);

/// Addresses for which a port answers ARP, NDP and ping, in addition to the flows' sources.
struct ArpConfig {
  bool wanted = false;  // the profile has [presence]
  std::vector<wire::IpAddress> addresses;
  std::optional<wire::MacAddress> mac;  // of these addresses; default: the first flow's source
};

struct FlowProfile {
  std::string name;
  std::uint64_t seed = 0;
  std::optional<double> link_bps;   // rate of the link that all flows share
  std::vector<Flow> flows;          // not empty
  std::vector<Expectation> expect;  // of questions (questions.h), or of figures
  ArpConfig presence;
  std::vector<RankHost> hosts;  // of a run of several processes
};

/// Reads a profile of flows from a file; "-" is standard input. docs/reference/flow-profile.md
/// lists the keys. Errors (usage): a line per error, with file, line and column. `changes`: those
/// of --set, "web.rate=1Gb/s" (Document::edits_of()).
Result<FlowProfile> load_flow_profile(const std::string& path,
                                      std::span<const std::string> changes = {});
Result<FlowProfile> parse_flow_profile(std::string_view text, std::string name);

/// What a profile sends, in a few words: "4 flows, 200.0 Mb/s on the wire".
std::string words_of(const FlowProfile& profile);

/// Computes the means from the flow's fields, message and sizes.
MessageMeans means_of(const Flow& flow);

/// Mean rate of a flow in bit/s on the wire. Requires flow.means.
double mean_wire_bits(const Flow& flow);
/// Rate during on periods; equal to mean_wire_bits() for other arrivals.
double peak_wire_bits(const Flow& flow);

/// Sum of the peak rates of flows that share a link.
struct LinkDemand {
  double wire_bits = 0;  // per second
  std::string parts;     // "web 3.00 Gb/s + storage 1.00 Gb/s", a part per [[flow]]
};
/// Demand of flows `first`, `first + step`, ...
LinkDemand link_demand(const std::vector<Flow>& flows, std::size_t first = 0, std::size_t step = 1);
/// Whether the demand exceeds link_bps by more than rounding.
bool exceeds(const LinkDemand& demand, double link_bps);

}  // namespace lw::config

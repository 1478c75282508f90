// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flow/expect.h"
#include "config/flow/flow_fault.h"
#include "config/flow/message_sizes.h"
#include "config/toml/rate.h"
#include "core/error.h"
#include "roce/compose.h"
#include "roce/message.h"

namespace lw::config {

/// What fills a payload. Every packet's payload begins the pattern anew, so packets of one length
/// carry the same bytes.
enum class Pattern : std::uint8_t {
  zeros,
  counter,  // 00 01 02 ... ff 00
  prbs31,   // x^31 + x^28 + 1, from a state that the profile's seed decides
  text,     // a text, again and again
  file,     // a file's first 4096 bytes; if it has fewer, again and again
};

/// When bursts are due.
enum class Arrival : std::uint8_t {
  constant,  // evenly
  poisson,   // exponential gaps, each by itself
  on_off,    // evenly while it is on
};

struct Payload {
  Pattern pattern = Pattern::counter;
  std::string text;
  friend auto operator<=>(const Payload&, const Payload&) = default;
};

/// What a message of a flow costs on average, deliberate faults not counted.
struct MessageMeans {
  double frames = 0;
  double wire_bytes = 0;     // preamble, FCS, padding to Ethernet's minimum and the gap counted
  double payload_bytes = 0;  // carried, signatures counted, pad not
};

/// One QP's traffic: `messages` messages in a row, that `repeat` times. A [[flow]] of many QPs is
/// as many of these, one behind the other.
struct Flow {
  std::string name;               // its [[flow]]'s; full_name() tells a range's QPs apart
  std::uint32_t id = 0;           // its number in the profile, from 0; the signature carries it
  std::uint32_t qp = 0, qps = 1;  // which of its [[flow]]'s QPs it is, and of how many
  roce::FrameFields frame;        // the first frame's fields, but those that `message` decides
  roce::Message message;          // the first message; where sizes vary, one of the largest
  MessageSizes sizes = MessageSizes::fixed(0);  // where they don't vary `message` has the size
  std::uint64_t messages = 1000;
  std::optional<std::uint64_t> repeat = 1;  // nothing: until it is stopped

  /// Message i (from 0, over all rounds) goes to va + (i % va_slots) * va_step.
  std::uint64_t va_slots = 1, va_step = 0;
  std::uint32_t immediate_step = 0;  // message i carries immediate + i * immediate_step

  MessageMeans means;       // flow_means.h; all 0 where nobody worked them out
  Rate rate;                // of this QP
  std::uint32_t burst = 1;  // frames that leave back to back, kWholeMessage: all of a message;
                            // the rate's mean is kept
  Arrival arrival = Arrival::constant;
  Duration on{0}, off{0};              // of on_off; on > 0
  Duration start_after{0};             // from the run's start
  std::optional<Duration> stop_after;  // frames due then or later don't go; from the run's start

  /// The destination's MAC address is the next hop's, which the network is asked for before
  /// anything is sent: the gateway's, or without one the destination's own.
  bool resolve_mac = false;
  std::optional<wire::IpAddress> gateway;

  Payload payload;
  bool signature = false;  // wire/signature.h at the start of each payload that has the room
  std::shared_ptr<const std::vector<Fault>> faults;  // of all its [[flow]]'s QPs; null: none

  static constexpr std::uint32_t kWholeMessage = 0;
};

/// "web", and for one of many QPs "web[17]".
std::string full_name(const Flow& flow);

/// For which addresses a port answers, besides the flows' sources.
struct Presence {
  bool wanted = false;  // [presence] is there
  std::vector<wire::IpAddress> addresses;
  std::optional<wire::MacAddress> mac;  // of these addresses; absent: the first flow's source
};

struct FlowProfile {
  std::string name;
  std::uint64_t seed = 0;
  std::optional<double> link_bps;  // of the link that all flows share
  std::vector<Flow> flows;         // not empty
  std::vector<Bound> expect;       // what a run or a receiver holds each flow to
  Presence presence;
};

/// Reads a profile of flows from a file, "-" for standard input. gen/README.md lists the keys.
/// Errors (usage): every mistake with file, line and column, one a line.
Result<FlowProfile> load_flow_profile(const std::string& path);
Result<FlowProfile> parse_flow_profile(std::string_view text, std::string name);

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace lw::config {

class Table;
struct Flow;

/// Sending rate of a flow.
struct Rate {
  enum class Unit : std::uint8_t {
    wire_bits,  // bit/s on the wire, with preamble, FCS and minimum inter-frame gap
    frames,     // frames/s
    goodput,    // bit/s of payload
    messages,   // messages/s
    link,       // share of the link in (0, 1]; becomes wire_bits when the link rate is known
  };
  Unit unit = Unit::wire_bits;
  double value = 1e9;  // > 0
  friend bool operator==(const Rate&, const Rate&) = default;
};

/// Parses "10Gb/s", "200 Mbps", "1000 frames/s", "20 kframes/s", "5 kmessages/s" or "40%".
Parsed<Rate> parse_rate(std::string_view text);

/// "b/s on the wire", "frames/s", "b/s of payload", "messages/s".
std::string_view name_of(Rate::Unit unit) noexcept;

/// Payload contents. The pattern restarts in every packet, so packets of equal length carry equal
/// payloads.
enum class Pattern : std::uint8_t {
  zeros,
  counter,  // 00 01 02 ... ff 00
  prbs31,   // x^31 + x^28 + 1; the profile's seed sets the initial state
  text,     // a text, repeated
  file,     // the first 4096 bytes of a file, repeated if shorter
};

/// Arrival process of bursts.
enum class ArrivalProcess : std::uint8_t {
  constant,  // equal gaps
  poisson,   // exponentially distributed, independent gaps
  on_off,    // equal gaps during on periods
};

struct Payload {
  Pattern pattern = Pattern::counter;
  std::string text;  // of `text` and `file`
  friend auto operator<=>(const Payload&, const Payload&) = default;
};

/// Profile settings that the keys of a flow depend on.
struct FlowContext {
  std::string profile;             // file name; other files are relative to its folder
  std::optional<double> link_bps;  // link rate, if the profile has it
};

/// Reads number of messages, rate, arrival and payload. Errors are recorded in the document.
void read_traffic(const Table& table, const FlowContext& context, Flow& flow);

}  // namespace lw::config

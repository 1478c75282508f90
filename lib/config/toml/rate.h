// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace lw::config {

/// How fast a flow sends.
struct Rate {
  enum class Unit : std::uint8_t {
    wire_bits,  // bits a second on the wire: preamble, FCS and the smallest gap count
    frames,     // frames a second
    goodput,    // bits of payload a second
    messages,   // messages a second
    link,       // a share of the link, above 0 to 1: stands for wire_bits once the link is known
  };
  Unit unit = Unit::wire_bits;
  double value = 1e9;  // > 0
  friend bool operator==(const Rate&, const Rate&) = default;
};

/// "10Gb/s", "200 Mbps", "1000 frames/s", "20 kframes/s", "1.5Mframes/s", "5 kmessages/s", "40%".
Parsed<Rate> parse_rate(std::string_view text);

/// "b/s on the wire", "frames/s", "b/s of payload", "messages/s".
std::string_view name_of(Rate::Unit unit) noexcept;

/// "10.00 Gb/s on the wire", "20000 frames/s".
std::string to_string(const Rate& rate);

}  // namespace lw::config

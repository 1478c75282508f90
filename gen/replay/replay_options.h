// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/flow/traffic.h"
#include "core/quantity.h"
#include "gen/stats/limits.h"
#include "roce/rewrite.h"
#include "wire/psn.h"

namespace lw::gen {

/// Speed relative to the capture's time stamps.
struct Speed {
  double factor = 1;  // > 0; infinite: no pauses
};

/// Due times of a replay's frames: from their time stamps, or at a rate.
using Pace = std::variant<Speed, config::Rate>;

/// Options of `roce-gen replay`.
struct ReplayOptions {
  std::string capture;  // a path, "-" for standard input
  std::string port;     // empty: none
  std::string pcap;     // a path, "-" for standard output; empty: none
  Pace pace;
  std::uint64_t loop = 1;  // passes over the capture; 0: until stopped
  roce::Rewrite rewrite;
  bool roce_only = false;
  Limits limits;
  bool json = false, verbose = false;
};

/// Parses "2x", "0.5x", "2" or "max".
Parsed<Speed> parse_speed(std::string_view text);

/// A number and its replacement.
struct Mapping {
  std::uint32_t from = 0, to = 0;
};
/// Parses "0x11=0x22": both 0 to `largest`, decimal or hexadecimal.
Parsed<Mapping> parse_mapping(std::string_view text, std::uint32_t largest);

/// Offset of PSNs modulo 2^24, of one QP or of all.
struct PsnOffset {
  std::optional<std::uint32_t> qp;
  std::uint32_t offset = 0;
};
/// Parses "100" or "-5" for all QPs, "0x11=100" for one.
Parsed<PsnOffset> parse_psn_offset(std::string_view text);

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/toml/rate.h"
#include "core/quantity.h"
#include "gen/stats/limits.h"
#include "roce/rewrite.h"
#include "wire/psn.h"

namespace lw::gen {

/// The capture's own pace, so many times as fast: 1 is as it was captured.
struct Speed {
  double factor = 1;  // > 0; infinite: no pauses at all
};

/// When a replay's frames are due: by their stamps, or by a rate that knows nothing of them.
using Pace = std::variant<Speed, config::Rate>;

/// What `roce-gen replay` was told.
struct ReplayOptions {
  std::string capture;  // a path, "-" for standard input
  std::string port;     // empty: none
  std::string pcap;     // a path, "-" for standard output; empty: none
  Pace pace;
  std::uint64_t loop = 1;  // passes over the capture; 0: until somebody stops it
  roce::Rewrite rewrite;
  bool roce_only = false;
  Limits limits;
  bool json = false, verbose = false;
};

/// "2x", "0.5x", "2", "max".
Parsed<Speed> parse_speed(std::string_view text);

/// "0x11=0x22": both 0 to `largest`, decimal or hexadecimal.
struct Mapping {
  std::uint32_t from = 0, to = 0;
};
Parsed<Mapping> parse_mapping(std::string_view text, std::uint32_t largest);

/// "100", "-5" for every QP, "0x11=100" for one. Modulo 2^24.
struct PsnOffset {
  std::optional<std::uint32_t> qp;
  std::uint32_t offset = 0;
};
Parsed<PsnOffset> parse_psn_offset(std::string_view text);

}  // namespace lw::gen

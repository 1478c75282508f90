// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace lw::dissect {

/// A frame whose ICRC is not the one that belongs to it; values in the order of the wire's bytes.
struct BadFrame {
  std::uint64_t number = 0, offset = 0;  // in the capture, from 1; in the file
  std::uint32_t expected = 0, found = 0;
};

/// What `verify` finds in one file. roce = icrc_ok + icrc_bad + icrc_unverifiable.
struct Verdicts {
  std::string file;
  std::uint64_t frames = 0, roce = 0, icrc_ok = 0, icrc_bad = 0, icrc_unverifiable = 0;
  bool opened = false;              // there was something to read, be it a capture or not
  std::uint64_t unopened = 0;       // frames of a link type that we don't know
  std::vector<BadFrame> first_bad;  // the first ten
  std::optional<Error> damage;      // what stopped the reading, after all that could be read
};

/// Checks every ICRC of a capture. Cut frames and fragments of RoCE packets are unverifiable.
Verdicts verify_file(const std::string& path);

/// done, or why not: a bad ICRC, damage.
int exit_of(const Verdicts& verdicts) noexcept;

}  // namespace lw::dissect

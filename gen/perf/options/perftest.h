// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "core/error.h"

namespace lw::gen::perftest {

/// Options of `roce-gen perf` that a line of perftest stands for.
struct Translation {
  std::vector<std::string> words;
  std::vector<std::string> notes;  // what differs, a line each
  std::string_view program;        // "ib_write_bw"
};

/// Which program runs a line.
enum class Run : std::uint8_t {
  simulated,  // roce-gen sim: the server's name is ignored
  port,       // roce-gen perf
  device,     // roce-endpoint
};

/// Translates a line of perftest, from its program's name on. Defaults that differ are perftest's.
/// Errors (usage): an unknown program or option, a refused option, a missing value.
Result<Translation> translate(std::span<const std::string> line, Run run);

/// Replaces the words behind "--" in a command line of `roce-gen perf` or `roce-gen sim` by their
/// translation, and prints the notes on stderr. Without "--", replaces perftest's options among the
/// words that are none of `own`, the command's; defaults stay those of the command.
Result<std::vector<std::string>> expand(std::span<const std::string> words, const app::Options& own,
                                        Run run);

/// As expand() for `roce-endpoint bw` and `lat`, the second word. Error (usage): the line is of the
/// other kind.
Result<std::vector<std::string>> expand_device(std::span<const std::string> words,
                                               const app::Options& own);

/// As expand() for `roce-gen respond` and a server's line: its port (-p) counts, all other options
/// are those of the client's line. Error (usage): the line names a server.
Result<std::vector<std::string>> expand_server(std::span<const std::string> words);

}  // namespace lw::gen::perftest

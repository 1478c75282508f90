// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <fmt/format.h>

#include "gen/commands/commands.h"

namespace lw::gen {

ExitCode complain(const Error& error) {
  // Without the program's name in front: editors and people jump to file:line:column.
  fmt::print(stderr, "{}\n", error.message);
  return error.exit;
}

}  // namespace lw::gen

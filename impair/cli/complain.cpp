// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <fmt/core.h>

#include "impair/cli/command.h"

namespace lw::impair {

ExitCode complain(const Error& error) {
  fmt::print(stderr, "roce-impair: {}\n", error.message);
  return error.exit;
}

}  // namespace lw::impair

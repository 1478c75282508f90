// SPDX-License-Identifier: BSD-3-Clause
#include "app/print_error.h"

#include <cstdio>

namespace lw {

ExitCode print_error(const Error& error) {
  std::fflush(stdout);
  std::fputs((error.message + "\n").c_str(), stderr);
  return error.exit;
}

}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/build_info.h"
#include "core/error.h"

namespace lw::app {

/// How this process was called, as run_program() read it.
struct Invocation {
  std::string program, command;    // "roce-gen", "roce-gen run"
  std::vector<std::string> words;  // as typed, without the program
  BuildInfo build;
  std::vector<std::string> errors;  // messages of print_error() so far

  /// The command line, quoted for a shell where needed. The value of --token is hidden.
  [[nodiscard]] std::string text() const;
};

/// Quotes a word for a shell, where needed.
std::string quoted_for_shell(const std::string& word);

/// Of this process. Main thread.
Invocation& this_invocation();

/// Runs when the command has ended and its outputs are closed, with the exit code of the process,
/// which an error increases. Main thread.
using AtEnd = std::function<Result<void>(ExitCode)>;
void at_end(AtEnd action);
/// Takes the actions of at_end(), in their order.
std::vector<AtEnd> take_end_actions();

}  // namespace lw::app

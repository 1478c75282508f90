// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace lw {

/// Exit status of the programs: done; the run or a check failed; bad usage or profile; the
/// environment lacks or refuses something (port, permission, memory, disk).
enum class ExitCode : int { done = 0, failed = 1, usage = 2, environment = 3 };

constexpr int to_int(ExitCode code) noexcept { return static_cast<int>(code); }

/// An error for the user: what was wrong, where, and the remedy. `exit` is the exit status if the
/// error ends the program.
struct Error {
  std::string message;
  ExitCode exit = ExitCode::usage;
};

template <class T>
using Result = std::expected<T, Error>;

/// Returns an error, for `return fail(...)` in a function that returns a Result.
inline std::unexpected<Error> fail(std::string message, ExitCode exit = ExitCode::usage) {
  return std::unexpected(Error{std::move(message), exit});
}

}  // namespace lw

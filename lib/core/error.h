// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace lw {

/// What a program says to the shell (DESIGN 4).
enum class ExitCode : int { done = 0, failed = 1, usage = 2, environment = 3 };

constexpr int to_int(ExitCode code) noexcept { return static_cast<int>(code); }

/// An error a person can act on: what was wrong, where, what to do. `exit` is what main returns
/// when nothing better can be done with it.
struct Error {
  std::string message;
  ExitCode exit = ExitCode::usage;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string message, ExitCode exit = ExitCode::usage) {
  return std::unexpected(Error{std::move(message), exit});
}

}  // namespace lw

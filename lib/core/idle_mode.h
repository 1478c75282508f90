// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace lw {

/// What a thread that polls does when there is nothing to do: sleep a little now and then; let
/// whoever else wants the core have it between two looks; or look again without pause.
enum class IdleMode { adaptive, yield, spin };

/// By their values.
inline const std::array<std::string, 3> kIdleModes = {"adaptive", "yield", "spin"};

/// `name` is one of kIdleModes.
constexpr IdleMode idle_mode_of(std::string_view name) noexcept {
  return name == "spin" ? IdleMode::spin : name == "yield" ? IdleMode::yield : IdleMode::adaptive;
}

}  // namespace lw

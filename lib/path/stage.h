// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "core/chance.h"
#include "path/direction.h"

namespace lw::path {

/// What a rule may do to a frame, in the order in which it does it. `none` is no stage: the frame
/// went by untouched, or the box itself had no room for it.
enum class Stage : std::uint8_t { none, loss, delay };

constexpr std::string_view name_of(Stage stage) noexcept {
  switch (stage) {
    case Stage::loss:
      return "loss";
    case Stage::delay:
      return "delay";
    case Stage::none:
      break;
  }
  return "none";
}

/// The draws of one stage of one rule in one direction (DESIGN 2.5): they depend on nothing else
/// but the seed and the ingress frame number, so that changing a rule leaves all others alone.
inline Chance chance_of(std::uint64_t seed, Direction direction, std::string_view rule,
                        Stage stage) noexcept {
  // Each name is hashed by itself, so that no two concatenations can coincide.
  std::uint64_t domain = hash_name(name_of(direction));
  domain = domain * 0x9e3779b97f4a7c15 + hash_name(rule);
  domain = domain * 0x9e3779b97f4a7c15 + hash_name(name_of(stage));
  return Chance(seed, domain);
}

}  // namespace lw::path

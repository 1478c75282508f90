// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lw::emulator {

/// The members that a stage may have, besides those that every stage has: see stages/all.h. A stage
/// lists those that it has; only listed ones are called. hook_check.h compares list and members.
enum class Hook : std::uint8_t {
  number,
  apply,
  begin,
  skip,
  leave,
  acts_on_leaving,
  reads_headers,
  fits_short_path,
  varies,
  waits,
  edits,
  inherit,
  inherit_counts,
  prepare,
  read,
  describe,
  audit,
  settings,
  figures,
  report,
  add_floor,
  add_ample,
  bytes_needed,
};
inline constexpr std::size_t kHookCount = static_cast<std::size_t>(Hook::bytes_needed) + 1;

/// The hooks that a stage lists.
class HookSet {
 public:
  constexpr HookSet(std::initializer_list<Hook> hooks) noexcept {
    for (const Hook hook : hooks) bits_ |= bit(hook);
  }
  [[nodiscard]] constexpr bool has(Hook hook) const noexcept { return (bits_ & bit(hook)) != 0; }

 private:
  static_assert(kHookCount <= 32);
  static constexpr std::uint32_t bit(Hook hook) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(hook);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace lw::emulator

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "config/impair/profile.h"
#include "core/error.h"
#include "emulator/link.h"

namespace lw::impair {

/// What a profile needs room for, from its delay, rate and smallest frame.
struct Sizing {
  std::uint64_t frames_per_direction = 0;  // in flight, with a quarter to spare
  std::uint32_t buffers = 0;               // both directions, and what ports and bursts hold
  std::uint64_t buffer_bytes = 0;          // of all buffers
  std::uint64_t queue_bytes = 0;           // of both release queues
  [[nodiscard]] std::uint64_t memory() const noexcept { return buffer_bytes + queue_bytes; }
};

Sizing size_for(const config::ImpairProfile& profile);
emulator::LinkConfig link_config(const config::ImpairProfile& profile);

/// The error (environment), with the arithmetic.
std::unexpected<Error> not_enough_memory(const config::ImpairProfile& profile,
                                         std::uint64_t available_bytes);
/// The same where the machine has less memory available.
Result<void> check_memory(const config::ImpairProfile& profile, std::uint64_t available_bytes);
/// What /proc/meminfo says is available; 0 where it says nothing.
std::uint64_t available_memory();

/// "100.00 Gb/s x 1.903507 ms = 23.79 MB, in frames of 1024 B ..."
std::string arithmetic(const config::ImpairProfile& profile);

}  // namespace lw::impair

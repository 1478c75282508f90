// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace lw {

/// A step of a process that a signal ends: it restores what would stay changed, and calls only
/// functions that a signal handler may call.
using LastStep = void (*)() noexcept;

/// Adds a step for all later ends by a signal. Does nothing if it is there already, or if there are
/// 8 steps.
void add_last_step(LastStep step) noexcept;

/// Takes all steps. A signal handler may call it.
void take_last_steps() noexcept;

}  // namespace lw

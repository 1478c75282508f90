// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace lw::nic {

class RuntimeFolder;

/// The Linux interfaces that this process has set down, at most 16. They are set up again where a
/// signal ends the process; after SIGKILL, the next process names them (runtime_folder.h).
///
/// Sets where the process notes them; null: nowhere. The folder must outlive the use.
void note_set_down_in(const RuntimeFolder* folder) noexcept;
/// Notes that `interface` was set down by this process, or set up again. Any thread.
void note_set_down(const std::string& interface, bool down) noexcept;

}  // namespace lw::nic

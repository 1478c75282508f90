// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace lw::gen {

/// From now on SIGINT and SIGTERM set the flag that is returned instead of ending the process;
/// a second one ends it, for a person whose patience is out.
const std::atomic<bool>& stop_on_signals();

}  // namespace lw::gen

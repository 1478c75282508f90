// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"
#include "app/print_error.h"

namespace lw::impair {

app::Command check_command();
app::Command ctl_command();
app::Command ledger_command();
app::Command replay_command();
app::Command run_command();

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"

namespace lw::gen {

app::Command check_command();
app::Command doctor_command();
app::Command experiment_command();
app::Command opcodes_command();
app::Command otg_command();
app::Command perf_command();
app::Command plan_command();
app::Command receive_command();
app::Command replay_command();
app::Command respond_command();
app::Command telemetry_command();
app::Command run_command();
app::Command search_command();
app::Command sim_command();

}  // namespace lw::gen

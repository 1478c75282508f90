// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"

namespace lw::gen::rdma {

app::Command serve_command();
/// Measurements as perftest counts them.
app::Command bw_command();
app::Command lat_command();
/// Measurements as the RDMA programming study counts them.
app::Command blast_command();
app::Command ping_command();

}  // namespace lw::gen::rdma

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"

namespace lw::gen::rdma {

app::Command serve_command();
/// Makes the command that measures as perftest does.
app::Command bw_command();
app::Command lat_command();
/// Makes the command that measures as the RDMA programming study does.
app::Command blast_command();
app::Command ping_command();

}  // namespace lw::gen::rdma

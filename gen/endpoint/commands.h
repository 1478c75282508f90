// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"
#include "core/figure.h"

namespace lw::gen::endpoint {

app::Command serve_command();
/// The table of a session that `serve` reports.
const FigureTable& session_figures();
inline constexpr JsonOutput kServeOutput{.name = "serve_session",
                                         .title = "roce-endpoint serve --json",
                                         .figures = &session_figures,
                                         .judged = true,
                                         .version = 2};
/// Makes the command that measures as perftest does.
app::Command bw_command();
app::Command lat_command();
/// Makes the command that measures as the RDMA programming study does.
app::Command blast_command();
app::Command ping_command();

}  // namespace lw::gen::endpoint

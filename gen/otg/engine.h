// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/otg/plan.h"
#include "gen/otg/reply.h"
#include "net/socket.h"

namespace lw::gen::otg {

/// Reads a configuration. Its problems are those of `reader`; the plan is complete only if there
/// are none.
LabPlan read_plan(const nlohmann::ordered_json& json, ModelReader& reader);

/// Runs one configuration in this process, which has no other threads: answers requests, texts of
/// JSON {"path": ..., "body": ...} as messages.h sends them, the first of which is that of /config,
/// until the other end closes the socket. `folder`: for captures; it exists.
void run_engine(const net::Socket& socket, const std::string& folder);

}  // namespace lw::gen::otg

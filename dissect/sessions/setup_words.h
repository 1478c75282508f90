// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "analysis/setup/connection_setup.h"

namespace lw::dissect {

/// What a reason of a REJ means to an operator, as a part of a sentence; empty: its name says it.
std::string_view reject_meaning(std::uint16_t reason) noexcept;
/// What a status of a SIDR_REP means; empty: its name says it.
std::string_view sidr_meaning(std::uint8_t status) noexcept;
/// "service 0x1061c06 (RDMA CM, TCP port 7174)".
std::string service_text(std::uint64_t service_id);
/// What was agreed: "RC, path MTU 1024, 7 retries, 7 after RNR NAKs, timeout 14"; empty where the
/// REQ was not captured.
std::string agreement_text(const analysis::ConnectionSetup& setup);
/// A set-up in a line: who asked whom for what, how it ended and after how long, what was agreed,
/// who ended the connection.
std::string setup_text(const analysis::ConnectionSetup& setup);

}  // namespace lw::dissect

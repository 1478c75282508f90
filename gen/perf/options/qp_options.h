// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"
#include "transport/qp_config.h"

namespace lw::gen {

/// Headings of DCQCN's options: the reaction point's apply where data is sent, the notification
/// point's where data arrives.
inline constexpr const char* kReactionPoint = "DCQCN reaction point (the sender of data)";
inline constexpr const char* kNotificationPoint = "DCQCN notification point (the receiver of data)";

/// --transport: the service of a QP.
void add_transport_option(app::Options& options, transport::QpConfig& config);

/// A QP's congestion control: kind, fixed rate, and DCQCN's parameters.
void add_congestion_options(app::Options& options, transport::QpConfig& config);

/// DCQCN's parameters alone, with the names and units of the NIC's configuration tool.
void add_dcqcn_options(app::Options& options, transport::DcqcnConfig& dcqcn);

}  // namespace lw::gen

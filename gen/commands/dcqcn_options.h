// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "transport/qp_config.h"

namespace lw::gen {

/// Adds a QP's congestion control: which, a fixed rate, and DCQCN's parameters by the names that
/// the NIC's configuration tool gives them, units as there.
void add_congestion_options(CLI::App* command, transport::QpConfig& config);

/// The parameters alone, in the two groups below.
void add_dcqcn_options(CLI::App* command, transport::DcqcnConfig& dcqcn);

/// Groups of options: those of the reaction point count where data is sent, those of the
/// notification point where it arrives.
inline constexpr const char* kReactionPoint = "DCQCN of who sends the data";
inline constexpr const char* kNotificationPoint = "DCQCN of who receives the data";

/// An option of that group that was given, by its name; empty: none was.
std::string given_of(const CLI::App& command, const std::string& group);

}  // namespace lw::gen

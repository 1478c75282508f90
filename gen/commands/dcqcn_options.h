// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>

#include "transport/qp_config.h"

namespace lw::gen {

/// Adds a QP's congestion control: which, a fixed rate, and DCQCN's parameters by the names that
/// the NIC's configuration tool gives them, units as there.
void add_congestion_options(CLI::App* command, transport::QpConfig& config);

}  // namespace lw::gen

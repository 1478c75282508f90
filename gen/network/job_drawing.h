// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/network/job_report.h"

namespace lw::gen {

/// The first iteration of a job as a self-contained SVG document: a row for each rank, in which it
/// computes and waits for messages, coloured by their step. A pointer on a bar shows its message.
/// Empty: no message arrived.
std::string job_svg(const JobReport& job);

}  // namespace lw::gen

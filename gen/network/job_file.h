// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <vector>

#include "config/toml/document.h"
#include "sim/job/jobs.h"

namespace lw::gen {

/// Reads a [[job]] of a network file, without its `ranks`, which the caller has read. `folder`: of
/// that file, for traces; `step_overhead`: of the NICs. docs/reference/roce-gen-jobs.md lists
/// the keys. Records errors in the document.
sim::JobConfig read_job(const config::Table& table, const std::filesystem::path& folder,
                        std::vector<sim::Node> ranks, Duration step_overhead);

}  // namespace lw::gen

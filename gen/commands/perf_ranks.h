// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "core/error.h"
#include "gen/perf/options/endpoint_options.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/session/session_params.h"
#include "gen/ranks/ranks.h"

namespace lw::gen {

/// The options of `roce-gen perf` as one of several ranks.
struct PerfRanksOptions {
  const PerfOptions& perf;
  const EndpointOptions& endpoint;
  Verify verify = Verify::all;
  Duration most_skew{};
  app::Verdicts& verdicts;
  app::HtmlReport& html;
  bool json = false;
};

/// Runs `--pattern incast`, `all-to-all` or `ring` as one of the ranks that mpirun started. Rank 0
/// prints the report of all. Returns the exit code, which is the same on all ranks.
ExitCode perf_as_rank(const PerfRanksOptions& options, const perf::PerfConfig& config,
                      const std::atomic<bool>& stop);

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/options/perf_options.h"
#include "gen/study/run_kind.h"

namespace lw::gen::experiment {

/// `roce-gen perf --sim`: a bandwidth or a latency run between two hosts. Its figures are those of
/// perf's --json.
class PerfKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;

 private:
  PerfOptions options_;
};

}  // namespace lw::gen::experiment

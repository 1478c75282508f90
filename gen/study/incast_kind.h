// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/options/perf_options.h"
#include "gen/study/run_kind.h"
#include "sim/incast.h"

namespace lw::gen::experiment {

/// "incast": several senders into one receiver through one shared path. perf's parameters, and
/// `senders` and `sample`; its series is each sender's rate over time.
class IncastKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;

 private:
  PerfOptions options_;
  sim::IncastConfig incast_;
};

}  // namespace lw::gen::experiment

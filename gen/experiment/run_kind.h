// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "report/json_line.h"
#include "sim/perf.h"

namespace lw::gen::experiment {

/// The run of one cell of an experiment. Several threads may call run() at the same time.
struct Work {
  bool by_chance = false;   // false: the result is the same for all seeds
  bool has_packets = true;  // false: `run` does not call the hook
  /// Returns settings and figures by name: numbers and words; an array is a series of samples. If
  /// the run failed, `failure` is the reason and `failed_at_ns` the time in the run.
  std::function<report::Json(std::uint64_t seed, const sim::PerfHook& hook)> run;
};

/// A kind of run. Its parameters are options like those of `roce-gen perf`: add_options() lists
/// them, the experiment's values are read as options, and work() evaluates them.
class RunKind {
 public:
  virtual ~RunKind() = default;
  virtual void add_options(app::Options& options) = 0;
  virtual Result<Work> work() = 0;
  /// The names of the figures that a run may have, as the keys of an object; a series is a list
  /// with one sample, which has the names of its values.
  [[nodiscard]] virtual report::Json figures() const = 0;
};

/// Creates the kind with this name, one of run_kinds(); null if it is unknown.
std::unique_ptr<RunKind> make_run_kind(std::string_view name);
const std::vector<std::string_view>& run_kinds();

}  // namespace lw::gen::experiment

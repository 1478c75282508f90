// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "report/json_line.h"

namespace lw::gen::experiment {

/// What one cell of an experiment runs. Thread safe: it may be run several times at once.
struct Work {
  bool by_chance = false;  // else every seed gives the same
  /// Settings and figures by name: numbers and words; an array is the run's own series of samples.
  std::function<report::Json(std::uint64_t seed)> run;
};

/// A kind of run. Its parameters are options as of `roce-gen perf`: add_options() lists them, their
/// texts are read, and work() evaluates them.
class RunKind {
 public:
  virtual ~RunKind() = default;
  virtual void add_options(app::Options& options) = 0;
  virtual Result<Work> work() = 0;
};

/// "perf" and its like; null where there is no such kind.
std::unique_ptr<RunKind> make_run_kind(std::string_view name);
const std::vector<std::string_view>& run_kinds();

}  // namespace lw::gen::experiment

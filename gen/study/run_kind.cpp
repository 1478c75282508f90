// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/run_kind.h"

#include "gen/study/incast_kind.h"
#include "gen/study/perf_kind.h"
#include "gen/study/vm_kind.h"

namespace lw::gen::experiment {

std::unique_ptr<RunKind> make_run_kind(std::string_view name) {
  if (name == "perf") return std::make_unique<PerfKind>();
  if (name == "incast") return std::make_unique<IncastKind>();
  if (name == "vm-migration") return std::make_unique<VmKind>();
  return nullptr;
}

const std::vector<std::string_view>& run_kinds() {
  static const std::vector<std::string_view> kKinds = {"perf", "incast", "vm-migration"};
  return kKinds;
}

}  // namespace lw::gen::experiment

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/study/precopy.h"
#include "gen/study/run_kind.h"

namespace lw::gen::experiment {

/// "vm-migration": a virtual machine moves by iterative pre-copy. What the wire gives to RDMA is
/// simulated packet by packet; what the hosts make of it, and of TCP, is a parameter.
class VmKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;

 private:
  std::string path_;
  std::string transport_ = "rdma";
  std::uint64_t memory_ = 8ULL << 30, disk_ = 100'000'000'000, used_ = 1ULL << 30;
  double stress_percent_ = 0;
  double rdma_rate_bps_ = 0, tcp_rate_bps_ = 0, write_rate_bps_ = 0, disk_rate_bps_ = 0;
  double pause_s_ = 1, downtime_s_ = 0.3, limit_s_ = 600;
  unsigned starts_ = 4;
};

}  // namespace lw::gen::experiment

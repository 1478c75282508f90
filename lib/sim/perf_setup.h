// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/perf.h"

namespace lw::sim {

/// The two hosts of a run.
struct PerfPair {
  Host* client = nullptr;
  Host* server = nullptr;
};

struct PerfLinks {
  SimLink* there = nullptr;
  SimLink* back = nullptr;
};
/// Adds the path's two directions.
PerfLinks add_links(Simulation& simulation, const perf::PerfConfig& config);
/// Memory of each host of a run.
transport::Memory memory_of(const perf::PerfConfig& config);

/// Adds the two hosts, a link each way, and the QPs between them, connected by number.
PerfPair connect(Simulation& simulation, const perf::PerfConfig& config);

/// Keeps receives posted on a responder's QPs, as perf::PerfConfig::receives and repost say.
class ReceivePool : public transport::Application {
 public:
  /// `config` and `host` outlive it. All QPs of the host must exist.
  ReceivePool(const perf::PerfConfig& config, Host& host);
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

 private:
  const perf::PerfConfig& config_;
  Host& host_;
};

/// The work request that every iteration posts.
transport::WorkRequest request_of(const perf::PerfConfig& config) noexcept;

/// Describes a completion in error.
perf::Failure failure_of(transport::QpSet& host, std::uint32_t qp,
                         const transport::Completion& done, Instant now);

inline constexpr std::uint64_t kPerfVa = 0x100000;
inline constexpr std::uint32_t kPerfKey = 0x1234;

}  // namespace lw::sim

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/pipeline.h"
#include "emulator/stats/audit.h"
#include "impair/record/change_log.h"
#include "impair/report/run_audit.h"

namespace lw::impair {

/// The audit of what a rule did under a configuration that a change has ended.
struct EndedAudit {
  std::string direction, rule;
  Duration begin{}, end{};  // since the first frame arrived
  std::vector<emulator::Check> checks = {};

  static const FigureTable& figures();
};

/// The audits of all configurations that ended, in order: at most kMost; further ones are only
/// counted. Their bounds are wider than those of a run's last configuration: a right stage exceeds
/// them in one of 10^9 checks, because a run may have tens of thousands. One thread, or under a
/// lock of the caller.
class EndedAudits {
 public:
  static constexpr std::size_t kMost = 1000;
  struct Further {
    std::uint64_t audits = 0, failed = 0;
    static const FigureTable& figures();
  };

  /// Audits the rules of both directions' `old` pipelines (null: not forwarded) which a change has
  /// replaced, where `now`, the profile's rules from `effect` on, has no rule of the same name and
  /// configuration.
  void add(const Effect& effect, const std::array<const emulator::Pipeline*, 2>& old,
           std::span<const emulator::RuleConfig> now);

  [[nodiscard]] const std::vector<EndedAudit>& audits() const noexcept { return audits_; }
  [[nodiscard]] const Further& further() const noexcept { return further_; }
  /// Of all of them, added up by rule.
  [[nodiscard]] const RunAudits& sums() const noexcept { return sums_; }

 private:
  void add(const emulator::Pipeline& pipeline, std::size_t place, Duration end);

  std::vector<EndedAudit> audits_;
  Further further_;
  RunAudits sums_;
  std::map<std::pair<emulator::Direction, std::string>, Duration> begins_;  // of the present ones
};

}  // namespace lw::impair

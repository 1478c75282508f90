// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "impair/control/live_profile.h"
#include "impair/report/report.h"

namespace lw::impair {

/// Answers what `roce-impair ctl` asks of a run: a JSON object in, one out.
///
///   {"do":"show"}                                     the report so far, and the rules in force
///   {"do":"set","rule":R,"keys":{"loss":"1%",...}}    changes keys of a rule; "" takes one away
///   {"do":"load","file":PATH}                         another profile
///   {"do":"reset"}                                    the loaded profile without what `set`
///   changed
///
/// The answer has `ok`; where that is false, `error` and `exit`. One thread.
class Control {
 public:
  /// Puts a new configuration in force between two bursts, or says why not.
  using Apply = std::function<Result<void>(const profile::ImpairProfile&)>;
  using Snapshot = std::function<Report()>;

  Control(LiveProfile live, Apply apply, Snapshot snapshot)
      : live_(std::move(live)), apply_(std::move(apply)), snapshot_(std::move(snapshot)) {}

  [[nodiscard]] std::string answer(std::string_view request);

 private:
  Result<nlohmann::ordered_json> act(const nlohmann::ordered_json& request);
  Result<nlohmann::ordered_json> change(Result<LiveProfile::Version> next);
  [[nodiscard]] nlohmann::ordered_json show() const;

  LiveProfile live_;
  Apply apply_;
  Snapshot snapshot_;
};

}  // namespace lw::impair

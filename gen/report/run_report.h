// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "config/flow/profile.h"
#include "core/time.h"
#include "gen/report/verdict.h"

namespace lw::gen {

/// A table for people: a row per [[flow]], its QPs together, and the sum.
std::string to_text(const RunReport& run, const config::FlowProfile& profile);
/// Like to_text(), as JSON; a [[flow]] of several QPs lists them under `qps`.
nlohmann::ordered_json to_json(const RunReport& run, const config::FlowProfile& profile);

/// The end of a run: frames sent, frames received, and the profile's expectations.
class RunSummary {
 public:
  /// `received` may be null. All arguments must outlive the summary.
  RunSummary(const config::FlowProfile& profile, const RunReport& sent,
             const Measurement* received);

  /// True if every frame was sent, every checked outgoing ICRC was right and every bound held.
  [[nodiscard]] bool good() const;

  /// Several lines for people.
  [[nodiscard]] std::string text() const;
  /// One line of JSON.
  [[nodiscard]] std::string json() const;

 private:
  const config::FlowProfile& profile_;
  const RunReport& sent_;
  const Measurement* received_;
  Verdict verdict_;
};

}  // namespace lw::gen

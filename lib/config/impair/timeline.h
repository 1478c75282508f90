// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "config/impair/profile.h"
#include "config/impair/scenario.h"
#include "config/toml/document.h"

namespace lw::config {

/// A profile under the changes of a scenario. Each change is checked by reading the whole
/// profile.
class Timeline {
 public:
  /// Records errors in `document`. `profile` and `document` must outlive this. Once `stop` is
  /// requested, no step is valid.
  Timeline(const Document& begin, const ImpairProfile& profile, Document& document,
           std::stop_token stop)
      : now_(begin.copy()), static_(&profile), document_(&document), stop_(std::move(stop)) {
    // No step changes an act, and every step reads the whole document.
    now_.remove({"at", "protection", "flap"});
  }

  /// Applies a step. False: the step is invalid, and later steps can't be checked.
  bool apply(const ScenarioStep& step);
  /// Returns an act's steps from `start` on.
  [[nodiscard]] std::vector<ScenarioStep> steps(const Act& act, Duration start);
  /// Longest delay of the profile after any step so far.
  [[nodiscard]] Duration longest() const noexcept { return longest_; }
  [[nodiscard]] Result<void> verdict() const;

 private:
  [[nodiscard]] const ImpairProfile& profile() const { return last_ ? *last_ : *static_; }
  [[nodiscard]] std::optional<Value> present(const Edit& edit) const;
  bool refuse(const ScenarioStep& step, const std::string& why);

  Document now_;
  const ImpairProfile* static_;
  std::optional<ImpairProfile> last_;
  Document* document_;
  std::stop_token stop_;
  std::string error_;  // of the invalid change
  Duration longest_{};
};

/// Expands all timed acts of a profile into its `scenario`, in order of time, and checks each step.
/// A ramp starts at the values that earlier steps set.
Result<void> lay_out(ImpairProfile& profile, Document& document, const std::stop_token& stop);

/// Checks acts without a time as if their command came at the start.
Result<void> try_commands(ImpairProfile& profile, Document& document, const std::stop_token& stop);

}  // namespace lw::config

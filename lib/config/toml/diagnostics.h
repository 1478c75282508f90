// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <set>
#include <string>
#include <utility>

#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// All that is wrong with one profile, so that a person mends it in one go.
class Diagnostics {
 public:
  explicit Diagnostics(std::string name) : name_(std::move(name)) {}

  /// The same complaint about the same place counts once: a bad default is one mistake, not one
  /// for each flow.
  void add(Position at, std::string message) { complaints_.emplace(at, std::move(message)); }

  [[nodiscard]] bool empty() const { return complaints_.empty(); }

  /// Nothing, or every complaint in the order of the file, one line each:
  /// "profiles/x.toml:12:8: rate: expected ..., found ...". Exit code 2.
  [[nodiscard]] Result<void> verdict() const;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::set<std::pair<Position, std::string>> complaints_;
};

}  // namespace lw::config

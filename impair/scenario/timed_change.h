// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "impair/loop/configuration.h"
#include "profile/scenario.h"

namespace lw::impair {

/// What a step of a scenario comes to, made ahead for the loop.
struct TimedChange {
  std::unique_ptr<Configuration> configuration;  // null: it stays
  std::optional<profile::LinkChange> links;
  Instant done{};  // when it was put in force; the loop says so
};

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "config/impair/scenario.h"
#include "impair/datapath/configuration.h"

namespace lw::impair {

/// What a step of a scenario comes to, made ahead for the loop.
struct TimedChange {
  std::unique_ptr<Configuration> configuration;  // null: it stays
  std::optional<config::LinkChange> links;
  Instant done{};  // when it was put in force; the loop says so
};

}  // namespace lw::impair

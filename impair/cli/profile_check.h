// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/impair/profile.h"
#include "core/figure.h"
#include "impair/datapath/configuration.h"

namespace lw::impair {

/// What `roce-impair check` prints as JSON: a profile and the memory that it needs.
struct ProfileCheck {
  const config::ImpairProfile& profile;
  Sizing sizing;

  static const FigureTable& figures();
};

inline constexpr JsonOutput kCheckOutput{
    .name = "impair_check", .title = "roce-impair check --json", .figures = &ProfileCheck::figures};

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/receive/measurement.h"
#include "gen/stats/watch.h"

namespace lw::gen {

/// What the command line said to a command that measures what it receives.
struct MeasureChoices {
  MeasureOptions measure;
  std::string histogram;  // a CSV file; empty: none
  WatchOptions watch;
};

}  // namespace lw::gen

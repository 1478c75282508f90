// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "core/quantity.h"
#include "sim/job/schedule.h"

namespace lw::gen {

/// Reads the messages of a job from CSV: a heading `rank,start,peer,bytes,depends_on` and a row for
/// each message. `rank` and `peer`: 0 to `ranks` - 1; `start`: a time since the begin of an
/// iteration; `depends_on`: numbers of earlier rows, from 1, separated by spaces, whose peer is
/// this rank. Error: with its line.
Parsed<sim::Schedule> parse_job_trace(std::string_view csv, std::size_t ranks);

}  // namespace lw::gen

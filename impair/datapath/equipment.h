// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/error.h"
#include "impair/datapath/run.h"
#include "nic/eal.h"
#include "nic/pool.h"
#include "nic/port.h"

namespace lw::impair {

/// EAL, two ports and the pool that their frames live in. Members are destroyed from the last to
/// the first: a port before its pool, all before EAL.
struct Equipment {
  nic::Eal eal;
  nic::Pool pool;
  nic::Port west, east;
};

/// Errors (usage, environment) name the port and what to do.
Result<Equipment> open_equipment(const config::ImpairProfile& profile, const RunConfig& config);

}  // namespace lw::impair

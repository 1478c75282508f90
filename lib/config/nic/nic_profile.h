// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "core/error.h"
#include "core/figure.h"

namespace lw::config {

/// Where a table of a NIC's profile goes: `object` is the struct of `rows`.
struct NicTable {
  const FigureTable& rows;
  void* object;
};

/// Sets settings from a profile of a NIC: a path, or a name as in find_profile(). Its table [nic]
/// has the rows of `nic`, its table [cc], if there is one, those of `congestion`. Keys that it
/// lacks stay as they are. Errors (usage), with file:line:column: not TOML, no [nic], an unknown
/// key, a value out of its bounds.
Result<void> load_nic_profile(const std::string& file, std::span<const NicTable> nic,
                              const NicTable& congestion);

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "config/toml/table.h"
#include "core/time.h"

namespace lw::gen {

/// Hosts, switches and cables of a template, by name.
struct Fabric {
  struct Cable {
    std::string a, b;
    double rate_bps = 0;
    Duration delay{};
  };
  std::vector<std::string> hosts, switches;
  std::vector<Cable> cables;
  bool ecmp = true;
};

/// Reads [fabric]: docs/reference/roce-gen-network.md lists the kinds, their keys and names. Errors
/// are recorded at their places; what is returned then may be incomplete.
Fabric read_fabric(const config::Table& table);

}  // namespace lw::gen

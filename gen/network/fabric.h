// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "config/toml/table.h"
#include "core/figure.h"
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

/// The delay of a fibre of `km`, at most kLongestFibre (core/limits.h): 5 s.
Duration delay_of_fibre(double km);

/// The settings of a [fabric] by rows, and an object with their defaults, for the manual.
const FigureTable& fabric_settings();
void* fabric_defaults();

}  // namespace lw::gen

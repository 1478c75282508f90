// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lw::dissect {

/// The counters of a port by name.
using PortCounters = std::map<std::string, std::uint64_t, std::less<>>;
/// The counters of each port by its name: "mlx5_0/1"; empty where the file does not name it.
using DeviceCounters = std::map<std::string, PortCounters, std::less<>>;

/// Parses counters as these print them: `grep . /sys/class/infiniband/*/ports/*/hw_counters/*`,
/// `ethtool -S`, `rdma statistic show`, `rdma -j statistic show`, node_exporter. Lines without a
/// counter are ignored; counters of one name and port are added. `name`: the file's name for the
/// error. Error: there is no counter; it shows the first line that is not empty.
Result<DeviceCounters> parse_port_counters(std::string_view text, const std::string& name);
/// Like parse_port_counters(), for a file of at most kLongestCounters. Errors: it can't be read, or
/// has no counter.
Result<DeviceCounters> read_port_counters(const std::string& path);

/// The differences of two readings, by port.
struct CounterDifferences {
  DeviceCounters risen;                                   // with those that did not change
  std::map<std::string, std::vector<std::string>> reset;  // smaller than before
};
CounterDifferences differences_of(const DeviceCounters& before, const DeviceCounters& after);

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "dissect/explain/explanation.h"

namespace lw::dissect {

/// The counters of a port by name: of several ports, their sum.
using PortCounters = std::map<std::string, std::uint64_t, std::less<>>;

/// Reads the output of `grep . /sys/class/infiniband/*/ports/*/hw_counters/*`, `ethtool -S` or
/// `rdma statistic show`. Lines that hold no counter are passed over. An error, which names the
/// first line of `name`, if no line holds one.
Result<PortCounters> parse_port_counters(std::string_view text, const std::string& name);
/// The same of a file. Errors: it cannot be read, or as above.
Result<PortCounters> read_port_counters(const std::string& path);

/// What a counter says and what the capture shows.
struct CounterComparison {
  std::string name;            // "packet_seq_err"
  std::string what;            // what it counts
  std::uint64_t counted = 0;   // difference
  std::uint64_t captured = 0;  // what the capture shows of it
  bool contradicts = false;
  std::string text;  // both numbers; of a contradiction, what it may come from
};

struct CounterReport {
  std::string host;  // the address of the port, as given, or as most counters agree with
  std::vector<CounterComparison> compared;
  std::vector<std::string> not_compared;  // that have changed, and that the capture says nothing of
  std::vector<std::string> reset;         // that became smaller
};

/// Compares the differences of a port's counters with what the capture shows of the host `address`;
/// empty: of the host that most counters agree with. Error: the capture has no such host.
Result<CounterReport> compare_counters(const PortCounters& before, const PortCounters& after,
                                       const Evidence& evidence, const std::string& address = {});

}  // namespace lw::dissect

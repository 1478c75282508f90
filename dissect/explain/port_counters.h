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

/// The counters of a port by name. Several ports are added up.
using PortCounters = std::map<std::string, std::uint64_t, std::less<>>;

/// Parses the output of `grep . /sys/class/infiniband/*/ports/*/hw_counters/*`, `ethtool -S` or
/// `rdma statistic show`. Lines without a counter are ignored. `name`: the file's name for the
/// error. Error: no line has a counter; it shows the first line that is not empty.
Result<PortCounters> parse_port_counters(std::string_view text, const std::string& name);
/// Like parse_port_counters(), for a file. Errors: it can't be read, or has no counter.
Result<PortCounters> read_port_counters(const std::string& path);

/// A counter, compared with the capture.
struct CounterComparison {
  std::string name;            // "packet_seq_err"
  std::string what;            // meaning of the counter
  std::uint64_t counted = 0;   // difference
  std::uint64_t captured = 0;  // number in the capture
  bool contradicts = false;
  std::string text;  // both numbers; if they contradict, possible causes

  static const FigureTable& figures();
};

struct CounterReport {
  std::string host;  // the address of the port, as given, or the host that most counters agree with
  std::vector<CounterComparison> compared;
  std::vector<std::string> not_compared;  // changed, but the capture shows nothing about them
  std::vector<std::string> reset;         // became smaller

  static const FigureTable& figures();
};

/// Compares the differences of a port's counters with what the capture shows of the host `address`;
/// empty: of the host that most counters agree with. Error: the capture has no such host.
Result<CounterReport> compare_counters(const PortCounters& before, const PortCounters& after,
                                       const Evidence& evidence, const std::string& address = {});

}  // namespace lw::dissect

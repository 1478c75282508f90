// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dissect/explain/counters/counter_signs.h"
#include "dissect/explain/facts/evidence.h"

namespace lw::dissect {

/// A counter, or a sum of counters, compared with the capture.
struct CounterComparison {
  std::string name;            // "packet_seq_err", "local_ack_timeout_err + roce_adp_retrans"
  std::string what;            // what it counts
  std::uint64_t counted = 0;   // difference
  std::uint64_t captured = 0;  // number in the capture
  bool contradicts = false;
  std::string text;  // both numbers; if they contradict, possible causes

  static const FigureTable& figures();
};

/// What the counters of one port say, and whether the capture agrees.
struct CounterReport {
  std::string port;  // "mlx5_0/1"; empty: the file does not name it
  std::string host;  // the address that fits the port best, or as given; empty: without a capture
  std::vector<std::string> other_ports;  // that the file has, and that fit worse
  std::vector<CounterComparison> compared;
  CounterSigns signs;
  std::vector<std::string> not_compared;  // changed, but the capture shows nothing about them
  std::vector<std::string> reset;         // became smaller

  [[nodiscard]] std::size_t contradictions() const noexcept;
  static const FigureTable& figures();
};

/// Finds the port whose counters fit a host of the capture best, by their differences, and compares
/// both. `address`: the port's, if given: then that host is compared. Error: the capture has no
/// such host.
Result<CounterReport> compare_counters(const CounterDifferences& differences,
                                       const Evidence& evidence, const std::string& address = {});
/// What the counters of each port that changed say without a capture; of all ports if none did.
std::vector<CounterReport> read_counters_alone(const CounterDifferences& differences);

}  // namespace lw::dissect

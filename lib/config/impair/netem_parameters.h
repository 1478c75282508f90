// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/impair/netem_words.h"

namespace lw::config {

/// Linux's default of `limit`, and the longest Ethernet frame without FCS that it then holds.
inline constexpr std::uint64_t kNetemLimit = 1000, kLongestFrame = 1514;

/// The parameters of a netem (tc-netem(8)).
struct NetemParameters {
  double delay_ns = 0, jitter_ns = 0;
  std::string distribution;
  std::string loss, corrupt;                                   // TOML values; empty: absent
  std::optional<double> independent_loss, duplicate, reorder;  // in per cent
  // Of their draws, in per cent.
  double loss_correlation = 0, duplicate_correlation = 0, reorder_correlation = 0;
  double corrupt_correlation = 0;
  bool passes_correlations = false;  // tc does so if another parameter than duplicate has one
  std::optional<std::uint64_t> gap;
  bool ecn = false;
  double slot_min_ns = 0, slot_max_ns = 0;        // both 0: no slots
  std::string slot_distribution;                  // then min is its mean, and max its deviation
  std::int64_t slot_packets = 0, slot_bytes = 0;  // of one; 0: any
  std::optional<double> rate;                     // b/s
  std::int64_t overhead = 0;                      // bytes per frame
  std::int64_t cell = 0, cell_overhead = 0;       // bytes; cell 0: none
  std::optional<std::uint64_t> limit, seed;
  std::vector<std::string> differences;

  /// Packets that the qdisc holds at most.
  [[nodiscard]] std::uint64_t most_packets() const {
    return std::max<std::uint64_t>(limit.value_or(kNetemLimit), 1);
  }
};

/// Reads the next parameter.
void take_netem_parameter(NetemWords& words, NetemParameters& all);

}  // namespace lw::config

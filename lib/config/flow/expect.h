// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml/table.h"

namespace lw::config {

/// What a profile's [expect] can bound, of each flow.
enum class Metric : std::uint8_t {
  // shares of the frames, 0 to 1
  loss,
  duplicated,
  out_of_order,
  bad_icrc,
  ce_marks,
  not_sent,
  rate_error,  // how far the achieved rate is from the asked one
  // times, ns: latency and its like
  latency_mean,
  p50,
  p90,
  p99,
  p99_9,
  p99_99,
  latency_max,
  jitter,
  // times, ns: how late bursts left, of the whole run
  pacing_p50,
  pacing_p99,
  pacing_max,
};

/// The profile's key, "p99_9".
std::string_view key_of(Metric metric) noexcept;
/// Whether it is a time; otherwise a share.
bool is_time(Metric metric) noexcept;

/// An upper bound: `loss = 0`, `loss = "0.1%"`, `p99 = "2ms"` (at most that), `p99 = "< 2ms"`.
struct Bound {
  Metric metric{};
  double limit = 0;     // a share, or ns
  bool strict = false;  // below it, not at it
  std::string text;     // as a message says it: "< 2 ms", "<= 0.1 %"

  [[nodiscard]] bool holds(double value) const noexcept {
    return strict ? value < limit : value <= limit;
  }
};

/// "2.1 ms" or "0.13 %".
std::string value_text(Metric metric, double value);

/// Reads [expect]; mistakes are noted in the table's document.
std::vector<Bound> read_expect(const Table& table);

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/rule.h"

namespace lw::test {

/// Number of frames for statistics: 10^6, or a tenth with sanitizers, which are slow.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t kManyFrames = 100'000;
#else
inline constexpr std::uint64_t kManyFrames = 1'000'000;
#endif

inline emulator::RuleConfig stage_rule() {
  emulator::RuleConfig config;
  config.name = std::string("r");
  return config;
}

inline emulator::Rule rule_of(const emulator::RuleConfig& config, std::uint64_t seed = 1) {
  return {config, {seed, emulator::Direction::west_to_east}, 0};
}

/// Returns a frame for tests in which only its number, length and time matter.
inline emulator::IngressFrame bare_arrival(std::uint64_t number, Instant now = {},
                                           std::uint32_t bytes = 1024) {
  static const roce::Envelope kEnvelope;
  return {kEnvelope, nullptr, number, bytes, now};
}

/// Returns the decision about a frame of a rule that never changes.
inline emulator::Decision decide(emulator::Rule& rule, const emulator::IngressFrame& arrival,
                                 const emulator::EventActions& aimed = {}) {
  emulator::Decision decision = rule.decide(arrival, aimed);
  rule.pass_queue(decision, arrival);
  return decision;
}

/// Returns which of `count` frames, one microsecond apart, a rule drops.
inline std::vector<bool> dropped_by(emulator::Rule rule, std::uint64_t count,
                                    std::uint32_t bytes = 1024) {
  std::vector<bool> dropped(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Instant now = instant_from_ns(static_cast<std::int64_t>(i) * 1000);
    dropped[i] = rule.decide(bare_arrival(i, now, bytes)).action == emulator::Action::drop;
  }
  return dropped;
}

/// Returns the lengths of the runs of set bits.
inline std::vector<std::uint64_t> runs_of(const std::vector<bool>& bits) {
  std::vector<std::uint64_t> runs;
  std::uint64_t run = 0;
  for (const bool bit : bits) {
    if (bit) {
      ++run;
    } else if (run > 0) {
      runs.push_back(run);
      run = 0;
    }
  }
  return runs;
}

}  // namespace lw::test

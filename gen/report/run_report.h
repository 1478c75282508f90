// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/flow/profile.h"
#include "core/time.h"
#include "gen/tx/send_audit.h"

namespace lw::gen {

/// What became of one flow.
struct alignas(64) FlowTally {          // what every frame touches is its first cache line
  std::uint64_t frames = 0, bytes = 0;  // sent; bytes as a capture shows them, without FCS
  std::uint64_t wire_bytes = 0;         // with preamble, FCS and gap
  std::uint64_t payload_bytes = 0;
  std::uint64_t messages = 0;         // whose last frame was sent
  std::uint64_t unsigned_frames = 0;  // too short for the signature that was asked for
  Duration begin{0};                  // when the first frame was due
  Duration span{0};                   // from the run's start to where the last frame's slot ends
  std::uint64_t not_sent = 0;         // given up: the port took no more
  std::array<std::uint64_t, config::kFaultKinds> faults{};  // deliberate ones, by kind

  /// In what the rate counts, a second, from its beginning on; 0 when nothing was sent.
  [[nodiscard]] double achieved(config::Rate::Unit unit) const noexcept;

  /// Of two flows that ran side by side.
  FlowTally& operator+=(const FlowTally& other) noexcept;
};

struct RunReport {
  std::string profile;
  std::uint64_t seed = 0;
  Duration elapsed{0};           // virtual time for a capture, real time for a port
  std::vector<FlowTally> flows;  // as in the profile
  SendAudit audit;               // of frames that went through ports

  [[nodiscard]] FlowTally total() const noexcept;
  /// Of `count` flows from one on: a range's QPs.
  [[nodiscard]] FlowTally total(std::size_t first, std::size_t count) const noexcept;
};

/// A table for people: a line for each [[flow]], its QPs together, and the sum.
std::string to_text(const RunReport& run, const config::FlowProfile& profile);
/// The same and more for programs; a [[flow]] of several QPs has them under `qps`.
nlohmann::ordered_json to_json(const RunReport& run, const config::FlowProfile& profile);

}  // namespace lw::gen

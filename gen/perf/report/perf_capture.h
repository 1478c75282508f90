// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "sim/simulation.h"

namespace lw::gen {

/// Where packets of a simulation of two hosts are captured: `out` when their last byte has left a
/// port, `in` when the path delivers them.
enum class CapturePoint : std::uint8_t { client_out, server_in, server_out, client_in };
inline constexpr std::array<std::string_view, 4> kCapturePoints = {"client-out", "server-in",
                                                                   "server-out", "client-in"};

/// Captures the frames at points of a simulation in memory and writes them as pcapng, with one
/// interface for each point.
class PerfCapture {
 public:
  /// Points in the order of their interfaces, each once.
  explicit PerfCapture(std::vector<CapturePoint> points) : points_(std::move(points)) {}

  /// Call before the run, which it outlives.
  void attach(sim::Simulation& simulation);
  Result<void> write(const std::string& file);

 private:
  struct Entry {
    Instant at;
    std::uint32_t interface = 0;
    std::vector<std::byte> frame;
  };
  void keep(Instant at, std::uint32_t interface, const transport::Packet& packet);

  std::vector<CapturePoint> points_;
  std::vector<Entry> entries_;
};

}  // namespace lw::gen

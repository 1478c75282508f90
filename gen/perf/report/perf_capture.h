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

/// Where a simulation of two hosts can be listened to: packets leave a port when their last byte
/// has, and get to the other one after all that the path did to them.
enum class CapturePoint : std::uint8_t { client_out, server_in, server_out, client_in };
inline constexpr std::array<std::string_view, 4> kCapturePoints = {"client-out", "server-in",
                                                                   "server-out", "client-in"};

/// Keeps the frames that cross points of a simulation and writes them down as pcapng, an interface
/// of that name for each point. They are held in memory until then.
class PerfCapture {
 public:
  /// Points in the order of their interfaces, each once.
  explicit PerfCapture(std::vector<CapturePoint> points) : points_(std::move(points)) {}

  /// It must outlive the simulation's run.
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

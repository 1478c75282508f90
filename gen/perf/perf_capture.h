// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/simulation.h"

namespace lw::gen {

/// Keeps the frames that enter a simulation's two lines, each stamped with the moment at which its
/// last byte has left the NIC, and writes them down as pcapng: interface 0 is the client's port,
/// 1 the server's. They are held in memory until then.
class PerfCapture {
 public:
  /// It must outlive the simulation's run.
  void attach(sim::Simulation& simulation);
  Result<void> write(const std::string& file);

 private:
  struct Entry {
    Instant at;
    std::uint32_t line = 0;
    std::vector<std::byte> frame;
  };
  std::vector<Entry> entries_;
};

}  // namespace lw::gen

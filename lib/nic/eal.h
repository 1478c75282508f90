// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "nic/port_spec.h"

namespace lw::nic {

/// Numbers of the CPUs that this process may use.
std::vector<int> allowed_cpus();

struct EalConfig {
  /// The ports that will be opened. Only their PCI devices are probed.
  std::span<const PortSpec> ports;
  /// CPUs to pin lcores to, one each; the first is for the calling thread. Empty: one lcore that
  /// may run on any allowed CPU, so that programs can share a small machine.
  std::vector<int> cores;
  /// Size of EAL's memory: rings, device state, and pools with eal_memory.
  std::uint32_t memory_mib = 64;
  bool verbose = false;  // copy DPDK's log to stderr
  /// Open DPDK's telemetry socket, in its runtime directory.
  bool telemetry = false;
  /// Name of the runtime directory; dpdk-telemetry.py looks in `rte` by default. Empty: one
  /// directory per process.
  std::string file_prefix = {};
};

/// DPDK's environment, one per process: start it before anything else in nic/ and destroy it last.
/// Destruction removes DPDK's directory; its memory and interrupt thread stay until the process
/// ends. Uses hugepages if enough are free, else ordinary memory, which needs no root.
class Eal {
 public:
  /// Pins the calling thread if cores are given. Errors: two ports are the same device (usage);
  /// another process uses a port, or DPDK reports an error, which is quoted (environment).
  static Result<Eal> start(const EalConfig& config);

  Eal(Eal&&) noexcept;
  Eal& operator=(Eal&&) noexcept;
  ~Eal();

  [[nodiscard]] bool has_hugepages() const noexcept;
  /// One sentence for the user: the kind of memory in use, and its cost.
  [[nodiscard]] std::string notice() const;
  /// A line for each interface that an earlier process has set down before it was killed. Its
  /// folder is removed by start(), the interface is left as it is.
  [[nodiscard]] std::string left_behind() const;

  /// Quote DPDK in error messages: call forget(), then DPDK; said() returns what DPDK logged.
  void forget() const;
  [[nodiscard]] std::string said() const;

 private:
  struct State;
  explicit Eal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lw::nic

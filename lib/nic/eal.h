// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "nic/port_spec.h"

namespace lw::nic {

class EalLog;

/// The CPUs that this process may use, by number.
std::vector<int> allowed_cpus();

struct EalConfig {
  /// The ports that will be opened: PCI is touched only where one of them is there, and only it.
  std::span<const PortSpec> ports;
  /// CPUs to pin to, one lcore each, the first being the caller's own thread. Empty: one lcore
  /// that may run on every CPU this process may use, so that programs can share a small machine.
  std::vector<int> cores;
  /// For EAL's own memory: rings, device state, and pools that a device needs in there.
  std::uint32_t memory_mib = 64;
  bool verbose = false;  // DPDK's log goes to stderr, too
  /// DPDK's telemetry socket, in its runtime directory.
  bool telemetry = false;
  /// Names that directory: `rte` is where dpdk-telemetry.py looks by itself. Empty: one of its own
  /// for each process.
  std::string file_prefix = {};
};

/// DPDK's environment, once a process: start it before anything else in nic/, destroy it last
/// (which sweeps DPDK's directory; its memory and its interrupt thread stay to the process's end).
/// Uses hugepages where enough are free, otherwise ordinary memory, which needs no root.
class Eal {
 public:
  /// Errors (environment) carry what DPDK said. Pins the calling thread if cores were given.
  static Result<Eal> start(const EalConfig& config);

  Eal(Eal&&) noexcept;
  Eal& operator=(Eal&&) noexcept;
  ~Eal();

  [[nodiscard]] bool has_hugepages() const noexcept;
  /// One sentence for people: which memory is used and what that costs.
  [[nodiscard]] std::string notice() const;

  /// What DPDK says from here on can be asked for when a call fails: forget(), call, said().
  void forget() const;
  [[nodiscard]] std::string said() const;

 private:
  struct State;
  explicit Eal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lw::nic

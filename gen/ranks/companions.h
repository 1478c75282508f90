// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/time.h"
#include "nic/stamp_clock.h"

namespace lw::gen {

/// Returns a random run number for signatures, which other runs are unlikely to have; not 0.
std::uint16_t new_run();

/// The other processes of a common run, as run_to_ports() sees them. Main thread.
class Companions {
 public:
  /// What the processes agree on before the first frame.
  struct Start {
    Instant at;             // by this machine's steady clock
    std::uint16_t run = 0;  // number in the signatures
  };
  /// Tasks while a function waits, such as answers to ARP.
  using Meanwhile = std::function<void()>;

  virtual ~Companions() = default;
  /// Says that this process is ready, and waits until all are. Sets `clock` to the time that all
  /// share. Errors: another process is not ready, or the run was stopped.
  virtual Result<Start> start(nic::StampClock& clock, const Meanwhile& meanwhile) = 0;
  /// Says that this process begins to send.
  virtual void begun() = 0;
  /// Takes messages of the others; call it once a millisecond. May set the stop flag of the run.
  virtual void poll() = 0;
  /// Says that this process has sent all its frames. `failure`: why it ended early; empty: it did
  /// not.
  virtual void sent(std::uint64_t frames, const std::string& failure) = 0;
  /// Number of frames that all processes have sent; nothing while one is still sending.
  [[nodiscard]] virtual std::optional<std::uint64_t> all_sent() const = 0;
  /// Says that this process has received what comes, and waits until all have.
  virtual void end(const Meanwhile& meanwhile) = 0;
};

}  // namespace lw::gen

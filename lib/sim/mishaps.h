// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/chance.h"
#include "core/time.h"
#include "emulator/stages/loss.h"
#include "transport/packet.h"

namespace lw::sim {

enum class Disposition : std::uint8_t { pass, drop, corrupt, mark, duplicate, delay };

/// One packet singled out: the n-th on this line to this QP with this PSN, as the peer counts
/// them: 1 is its first transmission.
struct Target {
  std::uint32_t dest_qp = 0;
  wire::Psn psn;
  bool response = false;  // else a request
  std::uint32_t nth = 1;
  Disposition fate = Disposition::drop;
};

/// What may happen to a packet on one line: each by chance, addressed by the packet's number on
/// that line, or aimed at one packet. Probabilities in [0, 1].
struct MishapConfig {
  double loss = 0, corruption = 0, duplication = 0, reordering = 0;
  double marking = 0;        // congestion experienced, by no queue
  Duration reorder_delay{};  // what a reordered or a delayed packet waits beyond the others
  std::uint64_t seed = 1;
  std::string name = "line";  // lines with different names draw differently
  std::vector<Target> targets;
};

/// Decides a packet's fate; the first of target, loss, corruption, duplication, reordering,
/// marking wins.
class Mishaps {
 public:
  explicit Mishaps(const MishapConfig& config);

  [[nodiscard]] bool any() const noexcept { return any_; }
  Disposition decide(const transport::Packet& packet, std::uint64_t number) noexcept;

 private:
  struct Watch {
    Target target;
    std::uint32_t seen = 0;
  };
  Disposition aimed(const transport::Packet& packet) noexcept;

  emulator::Loss loss_, corruption_, duplication_, reordering_, marking_;
  std::vector<Watch> watches_;
  bool any_;
};

}  // namespace lw::sim

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "roce/envelope.h"

namespace lw::dissect {

/// The UDP ports, beside 4791, that carry RoCEv2 in a capture: those that the user names, and 4791
/// as the source port, as some FPGA stacks swap the ports in their answers.
class RocePorts {
 public:
  explicit RocePorts(std::vector<std::uint16_t> ports) : ports_(std::move(ports)) {}

  /// Makes a UDP packet from or to one of the ports RoCE. From 4791, it must also begin like a BTH:
  /// with a known opcode and version 0.
  void apply(roce::Envelope& envelope) const noexcept;

 private:
  std::vector<std::uint16_t> ports_;
};

}  // namespace lw::dissect

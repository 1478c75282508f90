// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lw {

/// One instruction of the classic Berkeley packet filter, as compiled by libpcap.
/// (McCanne and Jacobson, 1993; Linux, networking/filter.rst)
struct BpfInstruction {
  std::uint16_t code = 0;
  std::uint8_t jump_true = 0, jump_false = 0;
  std::uint32_t k = 0;
  friend bool operator==(const BpfInstruction&, const BpfInstruction&) = default;
};

/// A verified filter program: it always ends and never reads outside the frame, because jumps only
/// go forward and every load is checked against the frame's length. Immutable; any thread may run
/// it.
class BpfProgram {
 public:
  /// Returns nothing if an instruction is unknown, a jump leaves the program, or the program has no
  /// final return.
  static std::optional<BpfProgram> create(std::vector<BpfInstruction> instructions);

  /// True if the filter accepts the frame. `wire_length` is the frame's length in bytes for the
  /// filter's LEN load; it exceeds frame.size() if the capture truncated the frame.
  [[nodiscard]] bool matches(std::span<const std::byte> frame,
                             std::uint32_t wire_length) const noexcept;

  friend bool operator==(const BpfProgram&, const BpfProgram&) = default;

 private:
  explicit BpfProgram(std::vector<BpfInstruction> instructions)
      : instructions_(std::move(instructions)) {}

  std::vector<BpfInstruction> instructions_;
};

}  // namespace lw

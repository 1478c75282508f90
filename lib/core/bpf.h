// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lw {

/// One instruction of the classic Berkeley packet filter, as libpcap compiles them.
/// (McCanne and Jacobson, 1993; Linux, networking/filter.rst)
struct BpfInstruction {
  std::uint16_t code = 0;
  std::uint8_t jump_true = 0, jump_false = 0;
  std::uint32_t k = 0;
  friend bool operator==(const BpfInstruction&, const BpfInstruction&) = default;
};

/// A program that is sure to end and to stay inside its frame: jumps go forward only, and every
/// load is held against the frame's length. Immutable; any thread may run it.
class BpfProgram {
 public:
  /// Nothing when an instruction is unknown, a jump leaves the program, or it doesn't end.
  static std::optional<BpfProgram> create(std::vector<BpfInstruction> instructions);

  /// Whether the frame is accepted. `wire_length`: what the filter takes for its length; more than
  /// is there where a capture cut.
  [[nodiscard]] bool matches(std::span<const std::byte> frame,
                             std::uint32_t wire_length) const noexcept;

  friend bool operator==(const BpfProgram&, const BpfProgram&) = default;

 private:
  explicit BpfProgram(std::vector<BpfInstruction> instructions)
      : instructions_(std::move(instructions)) {}

  std::vector<BpfInstruction> instructions_;
};

}  // namespace lw

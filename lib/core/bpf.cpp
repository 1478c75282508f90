// SPDX-License-Identifier: BSD-3-Clause
#include "core/bpf.h"

#include <array>

namespace lw {
namespace {

constexpr std::size_t kMemoryWords = 16;

// Instruction class: the lowest three bits.
enum Class : std::uint16_t { kLd, kLdx, kSt, kStx, kAlu, kJmp, kRet, kMisc };
// Size and mode of a load.
enum Size : std::uint16_t { kWord = 0x00, kHalf = 0x08, kByte = 0x10 };
enum Mode : std::uint16_t {
  kImm = 0x00,
  kAbs = 0x20,
  kInd = 0x40,
  kMem = 0x60,
  kLen = 0x80,
  kMsh = 0xa0
};
enum Alu : std::uint16_t {
  kAdd = 0x00,
  kSub = 0x10,
  kMul = 0x20,
  kDiv = 0x30,
  kOr = 0x40,
  kAnd = 0x50,
  kLsh = 0x60,
  kRsh = 0x70,
  kNeg = 0x80,
  kMod = 0x90,
  kXor = 0xa0
};
enum Jump : std::uint16_t { kJa = 0x00, kJeq = 0x10, kJgt = 0x20, kJge = 0x30, kJset = 0x40 };
constexpr std::uint16_t kSourceX = 0x08, kReturnA = 0x10, kTxa = 0x80;

constexpr std::uint16_t class_of(std::uint16_t code) noexcept { return code & 0x07; }
constexpr std::uint16_t size_of(std::uint16_t code) noexcept { return code & 0x18; }
constexpr std::uint16_t mode_of(std::uint16_t code) noexcept { return code & 0xe0; }
constexpr std::uint16_t operation_of(std::uint16_t code) noexcept { return code & 0xf0; }

bool is_load(std::uint16_t code) noexcept {
  if (size_of(code) > kByte) return false;
  const auto mode = mode_of(code);
  if (mode == kAbs || mode == kInd) return true;
  return size_of(code) == kWord && (mode == kImm || mode == kMem || mode == kLen);
}

bool is_load_x(std::uint16_t code) noexcept {
  const auto mode = mode_of(code);
  if (mode == kMsh) return size_of(code) == kByte;
  return size_of(code) == kWord && (mode == kImm || mode == kMem || mode == kLen);
}

bool is_sound_alu(const BpfInstruction& i) noexcept {
  const auto operation = operation_of(i.code);
  const bool divides = operation == kDiv || operation == kMod;
  return operation <= kXor && (!divides || (i.code & kSourceX) || i.k != 0);
}

/// `rest`: number of instructions after this one.
bool is_sound_jump(const BpfInstruction& i, std::size_t rest) noexcept {
  if (operation_of(i.code) == kJa) return i.k < rest;
  return operation_of(i.code) <= kJset && i.jump_true < rest && i.jump_false < rest;
}

bool is_sound(const BpfInstruction& i, std::size_t rest) noexcept {
  const bool uses_memory = mode_of(i.code) == kMem;
  switch (class_of(i.code)) {
    case kLd:
      return is_load(i.code) && (!uses_memory || i.k < kMemoryWords) && rest > 0;
    case kLdx:
      return is_load_x(i.code) && (!uses_memory || i.k < kMemoryWords) && rest > 0;
    case kSt:
    case kStx:
      return i.k < kMemoryWords && rest > 0;
    case kAlu:
      return is_sound_alu(i) && rest > 0;
    case kJmp:
      return is_sound_jump(i, rest);
    case kRet:
      return (i.code & 0x18) == kReturnA || (i.code & 0x18) == 0;
    default:
      return ((i.code & 0xf8) == 0 || (i.code & 0xf8) == kTxa) && rest > 0;
  }
}

/// The registers of a run over one frame.
struct BpfMachine {
  std::span<const std::byte> frame;
  std::uint32_t wire_length;
  std::uint32_t a = 0, x = 0;
  std::array<std::uint32_t, kMemoryWords> memory{};

  /// Reads a big-endian number; nothing if it is not entirely inside the frame.
  [[nodiscard]] std::optional<std::uint32_t> number(std::size_t offset,
                                                    std::uint16_t size) const noexcept {
    const std::size_t bytes = size == kWord ? 4 : size == kHalf ? 2 : 1;
    if (offset > frame.size() || frame.size() - offset < bytes) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(frame[offset + i]);
    return value;
  }

  [[nodiscard]] std::optional<std::uint32_t> load(const BpfInstruction& i) const noexcept {
    switch (mode_of(i.code)) {
      case kAbs:
        return number(i.k, size_of(i.code));
      case kInd:
        // As in libpcap: an index that wraps is outside the frame.
        return number(std::size_t{x} + i.k, size_of(i.code));
      case kMem:
        return memory[i.k];
      case kLen:
        return wire_length;
      case kMsh:
        if (const auto byte = number(i.k, kByte)) return (*byte & 15) << 2;
        return std::nullopt;
      default:
        return i.k;
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> compute(const BpfInstruction& i) const noexcept {
    const std::uint32_t b = i.code & kSourceX ? x : i.k;
    switch (operation_of(i.code)) {
      case kAdd:
        return a + b;
      case kSub:
        return a - b;
      case kMul:
        return a * b;
      case kDiv:
        return b ? std::optional(a / b) : std::nullopt;
      case kMod:
        return b ? std::optional(a % b) : std::nullopt;
      case kOr:
        return a | b;
      case kAnd:
        return a & b;
      case kXor:
        return a ^ b;
      case kLsh:
        return b < 32 ? a << b : 0;
      case kRsh:
        return b < 32 ? a >> b : 0;
      default:
        return 0 - a;
    }
  }

  /// Returns the number of instructions to skip.
  [[nodiscard]] std::uint32_t jump(const BpfInstruction& i) const noexcept {
    const std::uint32_t b = i.code & kSourceX ? x : i.k;
    switch (operation_of(i.code)) {
      case kJa:
        return i.k;
      case kJeq:
        return a == b ? i.jump_true : i.jump_false;
      case kJgt:
        return a > b ? i.jump_true : i.jump_false;
      case kJge:
        return a >= b ? i.jump_true : i.jump_false;
      default:
        return a & b ? i.jump_true : i.jump_false;
    }
  }

  /// Executes any instruction but a jump or return. False: the run ends (load outside the frame,
  /// division by 0).
  bool step(const BpfInstruction& i) noexcept {
    const auto kind = class_of(i.code);
    if (kind == kLd || kind == kLdx || kind == kAlu) {
      const auto value = kind == kAlu ? compute(i) : load(i);
      if (value) (kind == kLdx ? x : a) = *value;
      return value.has_value();
    }
    if (kind == kMisc) {
      (i.code & kTxa ? a : x) = i.code & kTxa ? x : a;
    } else {
      memory[i.k] = kind == kSt ? a : x;
    }
    return true;
  }
};

}  // namespace

std::optional<BpfProgram> BpfProgram::create(std::vector<BpfInstruction> instructions) {
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (!is_sound(instructions[i], instructions.size() - i - 1)) return std::nullopt;
  if (instructions.empty()) return std::nullopt;
  return BpfProgram(std::move(instructions));
}

bool BpfProgram::matches(std::span<const std::byte> frame,
                         std::uint32_t wire_length) const noexcept {
  BpfMachine machine{.frame = frame, .wire_length = wire_length};
  for (std::size_t at = 0;; ++at) {
    const BpfInstruction& i = instructions_[at];
    if (class_of(i.code) == kRet) return (i.code & 0x18) == kReturnA ? machine.a : i.k;
    if (class_of(i.code) == kJmp) {
      at += machine.jump(i);
    } else if (!machine.step(i)) {
      return false;
    }
  }
}

}  // namespace lw

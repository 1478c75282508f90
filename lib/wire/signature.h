// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/big_endian.h"

namespace lw::wire {

/// The clock that gave a signature's send time. Numbers from kSteady on are the steady clocks of
/// machines: each boot of a machine has one of 192 numbers, so two machines mostly differ.
struct ClockId {
  static constexpr std::uint8_t kUnknown = 0;  // version 1
  static constexpr std::uint8_t kVirtual = 1;  // of a capture that was written without waiting
  static constexpr std::uint8_t kTai = 2;      // CLOCK_TAI
  static constexpr std::uint8_t kPtp = 3;      // a port's PTP hardware clock
  static constexpr std::uint8_t kSteady = 64;
};

struct SignatureFields {
  std::uint32_t flow = 0;      // 24 bits; 32 in version 1
  std::uint64_t sequence = 0;  // 48 bits; 64 in version 1
  std::uint64_t send_time_ns = 0;
  std::uint16_t run = 0;  // number of the sender's run; 0: none, or version 1
  std::uint8_t clock = ClockId::kUnknown;
  std::uint8_t version = 2;
  friend bool operator==(const SignatureFields&, const SignatureFields&) = default;
};

/// A record at the start of a packet's payload, from which a receiver measures loss, order and
/// latency per flow. The ICRC covers it. Version 2, with the magic "LWS2":
///
///   | magic 32 | clock 8 | flow id 24 |
///   | run 16 | sequence 48 |
///   | send time, ns, 64 |
///
/// Version 1, with the magic "LWSG", has no clock and no run: flow id 32, sequence 64.
struct Signature {
  static constexpr std::uint32_t kMagic1 = 0x4c575347, kMagic2 = 0x4c575332;
  static constexpr std::uint32_t kLargestFlow = 0xffffff;
  static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << 48) - 1;

  Be32 magic;
  Be32 origin;    // clock and flow id
  Be64 sequence;  // with the run
  Be64 send_time_ns;

  /// 1 or 2; 0: not a signature.
  [[nodiscard]] int version() const noexcept {
    return magic.get() == kMagic2 ? 2 : magic.get() == kMagic1 ? 1 : 0;
  }
  [[nodiscard]] bool present() const noexcept { return version() != 0; }
  [[nodiscard]] SignatureFields fields() const noexcept {
    if (version() == 1) return {origin.get(), sequence.get(), send_time_ns.get(), 0, 0, 1};
    return {.flow = origin.get() & kLargestFlow,
            .sequence = sequence.get() & kSequenceMask,
            .send_time_ns = send_time_ns.get(),
            .run = static_cast<std::uint16_t>(sequence.get() >> 48),
            .clock = static_cast<std::uint8_t>(origin.get() >> 24)};
  }
  void set(const SignatureFields& f) noexcept {
    if (f.version == 1) return set_words(kMagic1, f.flow, f.sequence, f.send_time_ns);
    set_words(kMagic2, origin_word(f.clock, f.flow), number_word(f.run, f.sequence),
              f.send_time_ns);
  }
  void set_words(std::uint32_t magic_word, std::uint32_t origin_bits, std::uint64_t number_bits,
                 std::uint64_t time_ns) noexcept {
    magic.set(magic_word);
    origin.set(origin_bits);
    sequence.set(number_bits);
    send_time_ns.set(time_ns);
  }
  static constexpr std::uint32_t origin_word(std::uint8_t clock, std::uint32_t flow) noexcept {
    return std::uint32_t{clock} << 24 | (flow & kLargestFlow);
  }
  static constexpr std::uint64_t number_word(std::uint16_t run, std::uint64_t sequence) noexcept {
    return std::uint64_t{run} << 48 | (sequence & kSequenceMask);
  }
};
static_assert(sizeof(Signature) == 24 && alignof(Signature) == 1);

}  // namespace lw::wire

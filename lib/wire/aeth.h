// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "core/time.h"
#include "wire/field.h"

namespace lw::wire {

/// Kind of an AETH's syndrome. (IBTA vol. 1, 9.7.5.1.3 and table 45)
enum class AethKind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

/// NAK code: the lower five bits of a NAK's syndrome.
enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};

struct AethFields {
  std::uint8_t syndrome = 0x1f;  // ACK with unlimited credits
  std::uint32_t msn = 0;         // 24 bits

  [[nodiscard]] constexpr AethKind kind() const noexcept {
    return static_cast<AethKind>(syndrome >> 5 & 3);
  }
  template <AethKind kKind>
  static constexpr bool is(const AethFields& fields) noexcept {
    return fields.kind() == kKind;
  }
  friend bool operator==(const AethFields&, const AethFields&) = default;
};

/// ACK extended transport header. (IBTA vol. 1, 9.3.5)
///
///   | syndrome 8: reserved 1, kind 2, credits, timer or code 5 | MSN 24 |
struct Aeth {
  Be8 syndrome;
  Be24 msn;

  static constexpr std::uint8_t kValue = 0x1f;
  static constexpr int kKindShift = 5;
  static constexpr std::uint8_t kUnlimitedCredits = 0x1f;

  [[nodiscard]] AethKind kind() const noexcept {
    return static_cast<AethKind>(syndrome.get() >> kKindShift & 3);
  }
  /// Credits (ack), timer code (rnr_nak) or NAK code (nak).
  [[nodiscard]] std::uint8_t value() const noexcept { return syndrome.get() & kValue; }

  using Fields = AethFields;
  static constexpr std::string_view kName = "AETH", kLayer = "aeth";
  static constexpr std::array kFields = {
      field<&AethFields::syndrome>(
          {.name = "infiniband.aeth.syndrome", .help = "ACK, RNR NAK or NAK, and its value"}),
      field<&AethFields::syndrome>(
          {.name = "infiniband.aeth.syndrome.reserved", .shift = 7, .bits = 1}),
      field<&AethFields::syndrome>({.name = "infiniband.aeth.syndrome.opcode",
                                    .help = "kind: 0 ACK, 1 RNR NAK, 3 NAK",
                                    .shift = 5,
                                    .bits = 2}),
      when<AethFields>(
          &AethFields::is<AethKind::ack>,
          field<&AethFields::syndrome>({.name = "infiniband.aeth.syndrome.credit_count",
                                        .help = "credits, as a code",
                                        .bits = 5})),
      when<AethFields>(&AethFields::is<AethKind::rnr_nak>,
                       field<&AethFields::syndrome>({.name = "infiniband.aeth.syndrome.timer",
                                                     .help = "time to wait, as a code",
                                                     .bits = 5})),
      when<AethFields>(
          &AethFields::is<AethKind::reserved>,
          field<&AethFields::syndrome>(
              {.name = "infiniband.aeth.syndrome.reserved_value", .help = "", .bits = 5})),
      when<AethFields>(
          &AethFields::is<AethKind::nak>,
          field<&AethFields::syndrome>(
              {.name = "infiniband.aeth.syndrome.error_code", .help = "NAK code", .bits = 5})),
      field<&AethFields::msn>({.name = "infiniband.aeth.msn",
                               .key = "msn",
                               .help = "message sequence number",
                               .bits = 24}),
  };

  [[nodiscard]] AethFields fields() const noexcept { return {syndrome.get(), msn.get()}; }
  void set(const AethFields& f) noexcept {
    syndrome.set(f.syndrome);
    msn.set(f.msn);
  }
};
static_assert(sizeof(Aeth) == 4 && alignof(Aeth) == 1);

/// Wait time of an RNR NAK's timer code (0..31): 0 is the longest, 655.36 ms, then 10 us rising to
/// 491.52 ms. (IBTA vol. 1, table 47)
constexpr Duration rnr_timer(std::uint8_t code) noexcept {
  constexpr std::array<std::int64_t, 32> kTensOfMicroseconds = {
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::chrono::microseconds{10 * kTensOfMicroseconds[code & Aeth::kValue]};
}

}  // namespace lw::wire

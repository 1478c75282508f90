// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>

#include "wire/field.h"

namespace lw::wire {

inline constexpr std::uint16_t kDefaultPKey = 0xffff;
inline constexpr std::uint32_t kMulticastQp = 0xffffff;

struct BthFields {
  std::uint8_t opcode = 0;
  bool solicited_event = false;
  bool mig_req = true;         // as hardware NICs send; Linux rxe sends 0
  std::uint8_t pad_count = 0;  // 0..3
  std::uint8_t version = 0;    // TVer, 4 bits
  std::uint16_t p_key = kDefaultPKey;
  bool fecn = false, becn = false;
  std::uint8_t reserved6 = 0;
  std::uint32_t dest_qp = 0;  // 24 bits
  bool ack_req = false;
  std::uint8_t reserved7 = 0;
  Psn psn{};
  friend bool operator==(const BthFields&, const BthFields&) = default;
};

/// Base transport header. (IBTA vol. 1, 9.2)
///
///   | opcode 8 | SE 1 | MigReq 1 | PadCnt 2 | TVer 4 | P_Key 16 |
///   | FECN 1 | BECN 1 | resv6 6 | DestQP 24                     |
///   | AckReq 1 | resv7 7 | PSN 24                               |
struct Bth {
  Be8 opcode;
  Be8 flags;
  Be16 p_key;
  Be8 congestion;  // FECN, BECN, resv6: the byte that the ICRC counts as all ones
  Be24 dest_qp;
  Be8 acknowledge;
  Be24 psn_bytes;

  static constexpr std::uint8_t kSolicitedEvent = 0x80, kMigReq = 0x40, kPadCount = 0x30,
                                kVersion = 0x0f;
  static constexpr std::uint8_t kFecn = 0x80, kBecn = 0x40, kReserved6 = 0x3f;
  static constexpr std::uint8_t kAckReq = 0x80, kReserved7 = 0x7f;
  static constexpr int kPadShift = 4;

  [[nodiscard]] bool solicited_event() const noexcept { return flags.get() & kSolicitedEvent; }
  [[nodiscard]] bool mig_req() const noexcept { return flags.get() & kMigReq; }
  [[nodiscard]] std::uint8_t pad_count() const noexcept {
    return static_cast<std::uint8_t>((flags.get() & kPadCount) >> kPadShift);
  }
  [[nodiscard]] std::uint8_t version() const noexcept { return flags.get() & kVersion; }
  [[nodiscard]] bool fecn() const noexcept { return congestion.get() & kFecn; }
  [[nodiscard]] bool becn() const noexcept { return congestion.get() & kBecn; }
  [[nodiscard]] bool ack_req() const noexcept { return acknowledge.get() & kAckReq; }
  [[nodiscard]] Psn psn() const noexcept { return Psn{psn_bytes.get()}; }
  void set_psn(Psn psn) noexcept { psn_bytes.set(psn.value()); }
  void set_ack_req(bool on) noexcept {
    acknowledge.set(
        static_cast<std::uint8_t>((acknowledge.get() & kReserved7) | (on ? kAckReq : 0)));
  }

  using Fields = BthFields;
  static constexpr std::array kFields = {
      field<&BthFields::opcode>({.name = "infiniband.bth.opcode", .help = "operation code"}),
      field<&BthFields::solicited_event>({.name = "infiniband.bth.se", .help = "solicited event"}),
      field<&BthFields::mig_req>(
          {.name = "infiniband.bth.m", .key = "mig_req", .help = "migration request"}),
      field<&BthFields::pad_count>(
          {.name = "infiniband.bth.padcnt", .help = "pad bytes behind the payload", .bits = 2}),
      field<&BthFields::version>(
          {.name = "infiniband.bth.tver", .help = "transport header version", .bits = 4}),
      field<&BthFields::p_key>(
          {.name = "infiniband.bth.p_key", .key = "p_key", .help = "partition key"}),
      field<&BthFields::fecn>({.name = "infiniband.bth.fecn",
                               .key = "fecn",
                               .help = "forward congestion notification"}),
      field<&BthFields::becn>({.name = "infiniband.bth.becn",
                               .key = "becn",
                               .help = "backward congestion notification"}),
      field<&BthFields::reserved6>({.name = "infiniband.bth.reserved6", .bits = 6}),
      field<&BthFields::dest_qp>({.name = "infiniband.bth.destqp",
                                  .key = "dst_qp",
                                  .help = "receiver's QP number",
                                  .base = Base::hex,
                                  .digits = 6,
                                  .bits = 24,
                                  .per_qp = true}),
      field<&BthFields::ack_req>({.name = "infiniband.bth.a", .help = "acknowledgement requested"}),
      field<&BthFields::reserved7>({.name = "infiniband.bth.reserved7", .bits = 7}),
      field<&BthFields::psn>({.name = "infiniband.bth.psn", .help = "packet sequence number"}),
  };

  [[nodiscard]] BthFields fields() const noexcept;
  void set(const BthFields& f) noexcept;
};
static_assert(sizeof(Bth) == 12 && alignof(Bth) == 1);

/// The 16 zero bytes after a CNP's BTH (opcode 0x81, BECN 1, PSN 0). Over IPv4 a CNP's total
/// length is 60. (IBTA vol. 1, annex A17.9)
struct CnpReserved {
  std::array<std::byte, 16> zeros{};

  [[nodiscard]] bool all_zero() const noexcept {
    return std::ranges::all_of(zeros, [](std::byte b) { return b == std::byte{0}; });
  }
};
static_assert(sizeof(CnpReserved) == 16 && alignof(CnpReserved) == 1);

}  // namespace lw::wire

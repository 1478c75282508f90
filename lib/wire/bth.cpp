// SPDX-License-Identifier: BSD-3-Clause
#include "wire/bth.h"

namespace lw::wire {

BthFields Bth::fields() const noexcept {
  return {.opcode = opcode.get(),
          .solicited_event = solicited_event(),
          .mig_req = mig_req(),
          .pad_count = pad_count(),
          .version = version(),
          .p_key = p_key.get(),
          .fecn = fecn(),
          .becn = becn(),
          .reserved6 = static_cast<std::uint8_t>(congestion.get() & kReserved6),
          .dest_qp = dest_qp.get(),
          .ack_req = ack_req(),
          .reserved7 = static_cast<std::uint8_t>(acknowledge.get() & kReserved7),
          .psn = psn()};
}

void Bth::set(const BthFields& f) noexcept {
  opcode.set(f.opcode);
  flags.set(static_cast<std::uint8_t>(
      (f.solicited_event ? kSolicitedEvent : 0) | (f.mig_req ? kMigReq : 0) |
      ((f.pad_count << kPadShift) & kPadCount) | (f.version & kVersion)));
  p_key.set(f.p_key);
  congestion.set(static_cast<std::uint8_t>((f.fecn ? kFecn : 0) | (f.becn ? kBecn : 0) |
                                           (f.reserved6 & kReserved6)));
  dest_qp.set(f.dest_qp);
  acknowledge.set(
      static_cast<std::uint8_t>((f.ack_req ? kAckReq : 0) | (f.reserved7 & kReserved7)));
  set_psn(f.psn);
}

}  // namespace lw::wire

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/big_endian.h"

namespace lw::wire {

inline constexpr std::uint32_t kSignatureMagic = 0x4c575347;  // "LWSG"

struct SignatureFields {
  std::uint32_t flow = 0;
  std::uint64_t sequence = 0;
  std::uint64_t send_time_ns = 0;
  friend bool operator==(const SignatureFields&, const SignatureFields&) = default;
};

/// A record at the start of a packet's payload, from which a receiver measures loss, order and
/// latency per flow. The ICRC covers it.
///
///   | magic 32 | flow id 32 |
///   | sequence 64 |
///   | send time, ns, 64 |
struct Signature {
  Be32 magic;
  Be32 flow;
  Be64 sequence;
  Be64 send_time_ns;

  [[nodiscard]] bool present() const noexcept { return magic.get() == kSignatureMagic; }
  [[nodiscard]] SignatureFields fields() const noexcept {
    return {flow.get(), sequence.get(), send_time_ns.get()};
  }
  void set(const SignatureFields& f) noexcept {
    magic.set(kSignatureMagic);
    flow.set(f.flow);
    sequence.set(f.sequence);
    send_time_ns.set(f.send_time_ns);
  }
};
static_assert(sizeof(Signature) == 24 && alignof(Signature) == 1);

}  // namespace lw::wire

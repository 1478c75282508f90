// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

/// Q_Key of QP 1, the QP of connection management and the other general services.
inline constexpr std::uint32_t kQKeyGeneralServices = 0x80010000;

struct DethFields {
  std::uint32_t q_key = 0;
  std::uint32_t src_qp = 0;  // 24 bits
  friend bool operator==(const DethFields&, const DethFields&) = default;
};

/// Datagram extended transport header. (IBTA vol. 1, 9.3.2)
///
///   | Q_Key 32 |
///   | reserved 8 | source QP 24 |
struct Deth {
  Be32 q_key;
  Be8 reserved;
  Be24 src_qp;

  using Fields = DethFields;
  static constexpr std::string_view kName = "DETH", kLayer = "deth";
  static constexpr std::array kFields = {
      field<&DethFields::q_key>({.name = "infiniband.deth.q_key",
                                 .key = "q_key",
                                 .help = "queue key",
                                 .text = "qkey {:#x}",
                                 .base = Base::hex,
                                 .digits = 16}),
      field<&DethFields::src_qp>({.name = "infiniband.deth.srcqp",
                                  .help = "sender's QP number",
                                  .text = "srcqp {:#x}",
                                  .base = Base::hex,
                                  .digits = 8,
                                  .bits = 24}),
  };

  [[nodiscard]] DethFields fields() const noexcept { return {q_key.get(), src_qp.get()}; }
  void set(const DethFields& f) noexcept {
    q_key.set(f.q_key);
    reserved.set(0);
    src_qp.set(f.src_qp);
  }
};
static_assert(sizeof(Deth) == 8 && alignof(Deth) == 1);

}  // namespace lw::wire

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "wire/field.h"

namespace lw::wire {

inline constexpr std::uint32_t kGeneralServicesQp = 1;
inline constexpr std::size_t kMadSize = 256;

inline constexpr std::uint8_t kMadClassCommunication = 0x07;  // CM

struct MadFields {
  std::uint8_t base_version = 1;
  std::uint8_t management_class = kMadClassCommunication;
  std::uint8_t class_version = 2;
  std::uint8_t method = 0x03;  // Send
  std::uint16_t status = 0;
  std::uint16_t class_specific = 0;
  std::uint64_t transaction_id = 0;
  std::uint16_t attribute_id = 0;
  std::uint32_t attribute_modifier = 0;
  friend bool operator==(const MadFields&, const MadFields&) = default;
};

/// The header of a management datagram. (IBTA vol. 1, 13.4.3)
///
///   | base version 8 | class 8 | class version 8 | R 1, method 7 |
///   | status 16 | class specific 16 |
///   | transaction id 64 |
///   | attribute id 16 | reserved 16 |
///   | attribute modifier 32 |
struct Mad {
  Be8 base_version, management_class, class_version, method;
  Be16 status, class_specific;
  Be64 transaction_id;
  Be16 attribute_id, reserved;
  Be32 attribute_modifier;

  using Fields = MadFields;
  static constexpr std::array kFields = {
      field<&MadFields::base_version>({.name = "infiniband.mad.baseversion",
                                       .help = "MAD format version",
                                       .base = Base::hex,
                                       .digits = 2}),
      field<&MadFields::management_class>({.name = "infiniband.mad.mgmtclass",
                                           .help = "management class",
                                           .base = Base::hex,
                                           .digits = 2}),
      field<&MadFields::class_version>({.name = "infiniband.mad.classversion",
                                        .help = "version of the class",
                                        .base = Base::hex,
                                        .digits = 2}),
      field<&MadFields::method>(
          {.name = "infiniband.mad.method", .help = "method", .base = Base::hex, .digits = 2}),
      field<&MadFields::status>(
          {.name = "infiniband.mad.status", .help = "status", .base = Base::hex, .digits = 4}),
      field<&MadFields::class_specific>({.name = "infiniband.mad.classspecific",
                                         .help = "class-specific value",
                                         .base = Base::hex,
                                         .digits = 4}),
      field<&MadFields::transaction_id>({.name = "infiniband.mad.transactionid",
                                         .help = "transaction ID",
                                         .base = Base::hex,
                                         .digits = 16}),
      field<&MadFields::attribute_id>({.name = "infiniband.mad.attributeid",
                                       .help = "attribute ID",
                                       .base = Base::hex,
                                       .digits = 4}),
      field<&MadFields::attribute_modifier>({.name = "infiniband.mad.attributemodifier",
                                             .help = "attribute modifier",
                                             .base = Base::hex,
                                             .digits = 8}),
  };

  [[nodiscard]] MadFields fields() const noexcept {
    return {base_version.get(),   management_class.get(), class_version.get(),
            method.get(),         status.get(),           class_specific.get(),
            transaction_id.get(), attribute_id.get(),     attribute_modifier.get()};
  }
  void set(const MadFields& f) noexcept {
    base_version.set(f.base_version);
    management_class.set(f.management_class);
    class_version.set(f.class_version);
    method.set(f.method);
    status.set(f.status);
    class_specific.set(f.class_specific);
    transaction_id.set(f.transaction_id);
    attribute_id.set(f.attribute_id);
    reserved.set(0);
    attribute_modifier.set(f.attribute_modifier);
  }
};
static_assert(sizeof(Mad) == 24 && alignof(Mad) == 1);

}  // namespace lw::wire

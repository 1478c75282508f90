// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct VlanFields {
  std::uint8_t priority = 0;   // PCP, 0..7
  bool drop_eligible = false;  // DEI
  std::uint16_t id = 0;        // VID, 0..4095
  std::uint16_t type = 0;      // ethertype of what follows
  friend bool operator==(const VlanFields&, const VlanFields&) = default;
};

/// One 802.1Q tag after its TPID. (IEEE 802.1Q, 9.6)
///
///   | PCP 3 | DEI 1 | VID 12 | type 16 |
struct Vlan {
  Be16 control;
  Be16 type;

  static constexpr std::uint16_t kDropEligible = 0x1000;
  static constexpr std::uint16_t kId = 0x0fff;
  static constexpr int kPriorityShift = 13;

  [[nodiscard]] std::uint8_t priority() const noexcept {
    return static_cast<std::uint8_t>(control.get() >> kPriorityShift);
  }
  [[nodiscard]] bool drop_eligible() const noexcept { return control.get() & kDropEligible; }
  [[nodiscard]] std::uint16_t id() const noexcept { return control.get() & kId; }

  using Fields = VlanFields;
  static constexpr std::array kFields = {
      field<&VlanFields::id>({.name = "vlan.id", .help = "VLAN ID", .bits = 12}),
      field<&VlanFields::priority>(
          {.name = "vlan.priority", .help = "priority code point", .bits = 3}),
  };

  [[nodiscard]] VlanFields fields() const noexcept {
    return {priority(), drop_eligible(), id(), type.get()};
  }
  void set(const VlanFields& f) noexcept {
    control.set(static_cast<std::uint16_t>((f.priority & 7) << kPriorityShift |
                                           (f.drop_eligible ? kDropEligible : 0) | (f.id & kId)));
    type.set(f.type);
  }
};
static_assert(sizeof(Vlan) == 4 && alignof(Vlan) == 1);

}  // namespace lw::wire

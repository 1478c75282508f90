// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/mbuf_access.h"

namespace lw::impair {

bool MbufAccess::make_room() noexcept {
  static constexpr rte_mbuf_dynfield kRoom = {.name = "longwire_transit",
                                              .size = sizeof(emulator::Transit),
                                              .align = alignof(emulator::Transit),
                                              .flags = 0};
  room_offset = rte_mbuf_dynfield_register(&kRoom);
  return room_offset >= 0;
}

}  // namespace lw::impair

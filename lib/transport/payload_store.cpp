// SPDX-License-Identifier: BSD-3-Clause
#include "transport/payload_store.h"

#include <algorithm>

#include "transport/memory.h"

namespace lw::transport {

void PayloadView::write_to(wire::MutableBytes out) const {
  assert(out.size() == length_);
  if (memory_ != nullptr) return memory_->read(va_, out);
  std::ranges::copy(bytes_, out.begin());
}

PayloadSlot PayloadStore::keep(PayloadSlot slot, std::size_t length) {
  if (slot != kLent) {
    retain(slot);
    return slot;
  }
  const PayloadSlot kept = allocate();
  lent_.write_to(bytes(kept, length));
  return kept;
}

}  // namespace lw::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "transport/memory.h"

#include <cstring>

namespace lw::transport {

PayloadSlot Memory::copy_out(std::uint64_t va, std::uint32_t length, PayloadStore& store) {
  const PayloadSlot slot = store.take();
  std::memcpy(store.bytes(slot, length).data(), bytes(va, length).data(), length);
  return slot;
}

void Memory::copy_in(std::uint64_t va, PayloadSlot slot, std::uint32_t length,
                     PayloadStore& store) {
  std::memcpy(bytes(va, length).data(), store.bytes(slot, length).data(), length);
}

std::uint64_t Memory::load(std::uint64_t va) noexcept {
  std::uint64_t value = 0;
  if (real()) std::memcpy(&value, bytes(va, sizeof value).data(), sizeof value);
  return value;
}

void Memory::store(std::uint64_t va, std::uint64_t value) noexcept {
  if (real()) std::memcpy(bytes(va, sizeof value).data(), &value, sizeof value);
}

}  // namespace lw::transport

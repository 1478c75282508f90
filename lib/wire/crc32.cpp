// SPDX-License-Identifier: BSD-3-Clause
#include "wire/crc32.h"

#include <isa-l/crc.h>

namespace lw::wire {

// ISA-L and not zlib: 0.4 us against 2.2 us for 4 KiB on a 2.5 GHz core without VPCLMULQDQ.
std::uint32_t crc32(std::uint32_t so_far, Bytes bytes) noexcept {
  return crc32_gzip_refl(so_far, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

}  // namespace lw::wire

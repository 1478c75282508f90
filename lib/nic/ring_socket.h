// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <linux/if_packet.h>
#include <string>
#include <sys/socket.h>

#include "core/error.h"

namespace lw::nic {

inline constexpr std::size_t kEthernetHeader = 14, kTagSize = 4;
inline constexpr std::uint32_t kRingBlock = 2 * 1024 * 1024;  // size of a ring's block in bytes
// least number of slots of a ring, if memory is scarce
inline constexpr std::uint32_t kFewestSlots = 128;

/// Returns the number of blocks for `slots` slots of `slot` bytes.
constexpr std::uint32_t blocks_for(std::uint32_t slot, std::uint32_t slots) noexcept {
  const std::uint32_t per_block = kRingBlock / slot;
  return (slots + per_block - 1) / per_block;
}

/// Returns an error (environment) for a step that the kernel refused with errno `code`.
std::unexpected<Error> refuse_step(const std::string& port, const char* step, int code);

/// A packet socket with one ring of type TPACKET_V2. (V3 returns whole blocks, up to 1 ms late.)
class RingSocket {
 public:
  RingSocket() = default;
  RingSocket(const RingSocket&) = delete;
  RingSocket& operator=(const RingSocket&) = delete;
  ~RingSocket();

  /// Opens the socket; it receives nothing until bind(). Errors name the step that the kernel
  /// refused.
  Result<void> open(const std::string& port);
  /// Maps the ring. Rounds `slots` up to whole blocks. If there is not enough memory, halves it
  /// down to `fewest`.
  Result<void> map(const std::string& port, int kind, std::uint32_t slot, std::uint32_t slots,
                   std::uint32_t fewest);
  Result<void> bind(const std::string& port, unsigned interface, std::uint16_t protocol);

  bool set(int option, int value) noexcept {
    return setsockopt(fd_, SOL_PACKET, option, &value, sizeof value) == 0;
  }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  /// Returns a slot. Slots don't cross blocks; the rest of a block is unused.
  [[nodiscard]] tpacket2_hdr* slot(std::uint32_t number) const noexcept {
    return reinterpret_cast<tpacket2_hdr*>(static_cast<char*>(ring_) +
                                           std::size_t{number / per_block_} * kRingBlock +
                                           std::size_t{number % per_block_} * slot_);
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t number) const noexcept {
    return number + 1 == slots_ ? 0 : number + 1;
  }

 private:
  int fd_ = -1;
  void* ring_ = nullptr;
  std::size_t ring_size_ = 0;
  std::uint32_t slot_ = 0, slots_ = 0, per_block_ = 1;
};

// A slot of a ring. Its status says whether it belongs to the kernel or to this program.

inline std::uint32_t status_of(tpacket2_hdr* slot) noexcept {
  return std::atomic_ref(slot->tp_status).load(std::memory_order_acquire);
}
inline void set_status(tpacket2_hdr* slot, std::uint32_t status) noexcept {
  std::atomic_ref(slot->tp_status).store(status, std::memory_order_release);
}

inline std::byte* bytes_at(tpacket2_hdr* slot, std::size_t offset) noexcept {
  return reinterpret_cast<std::byte*>(slot) + offset;
}

}  // namespace lw::nic

// SPDX-License-Identifier: BSD-3-Clause
#include "nic/ring_socket.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/core.h>

namespace lw::nic {

std::unexpected<Error> refuse_step(const std::string& port, const char* step, int code) {
  const char* hint = code == EPERM || code == EACCES ? "; needs root, or CAP_NET_RAW: "
                                                       "`sudo setcap cap_net_raw,cap_net_admin+ep "
                                                       "PROGRAM`, with the program's path"
                                                     : "";
  return fail(fmt::format("port `{}`: {}: {}{}", port, step, std::strerror(code), hint),
              ExitCode::environment);
}

RingSocket::~RingSocket() {
  if (ring_ != nullptr) munmap(ring_, ring_size_);
  if (fd_ >= 0) close(fd_);
}

Result<void> RingSocket::open(const std::string& port) {
  // Protocol 0: nothing is received before bind().
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return refuse_step(port, "no packet socket", errno);
  if (!set(PACKET_VERSION, TPACKET_V2)) return refuse_step(port, "no packet ring", errno);
  if (!set(PACKET_VNET_HDR, 1))
    return refuse_step(port, "the kernel doesn't say which checksums are missing", errno);
  return {};
}

Result<void> RingSocket::map(const std::string& port, int kind, std::uint32_t slot,
                             std::uint32_t slots, std::uint32_t fewest) {
  slot_ = slot;
  per_block_ = kRingBlock / slot;
  for (;; slots /= 2) {
    tpacket_req request{};
    request.tp_block_size = kRingBlock;
    request.tp_frame_size = slot;
    request.tp_block_nr = blocks_for(slot, slots);
    request.tp_frame_nr = request.tp_block_nr * per_block_;
    slots_ = request.tp_frame_nr;
    ring_size_ = std::size_t{request.tp_block_nr} * kRingBlock;
    if (setsockopt(fd_, SOL_PACKET, kind, &request, sizeof request) == 0) break;
    if (errno != ENOMEM || slots / 2 < fewest) return refuse_step(port, "no packet ring", errno);
  }
  void* mapped = mmap(nullptr, ring_size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) return refuse_step(port, "the packet ring is not mapped", errno);
  ring_ = mapped;
  return {};
}

Result<void> RingSocket::bind(const std::string& port, unsigned interface, std::uint16_t protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = static_cast<int>(interface);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return refuse_step(port, "the packet socket is not bound", errno);
  return {};
}

}  // namespace lw::nic

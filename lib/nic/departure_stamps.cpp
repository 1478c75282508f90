// SPDX-License-Identifier: BSD-3-Clause
#include "nic/departure_stamps.h"

#include <cstring>
#include <ctime>
#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <optional>
#include <sys/socket.h>

namespace lw::nic {
namespace {

constexpr std::uint32_t kAsked = SOF_TIMESTAMPING_TX_SOFTWARE;

/// A stamp of the socket's error queue, and the number of its frame.
struct Stamp {
  std::uint32_t number = 0;
  std::int64_t wall_ns = 0;
};

Stamp stamp_of(msghdr& message) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Stamp stamp;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
      scm_timestamping times;
      std::memcpy(&times, CMSG_DATA(part), sizeof times);
      stamp.wall_ns = times.ts[0].tv_sec * kSecond + times.ts[0].tv_nsec;
    } else if (part->cmsg_level == SOL_PACKET && part->cmsg_type == PACKET_TX_TIMESTAMP) {
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(part), sizeof error);
      stamp.number = error.ee_data;
    }
  }
  return stamp;
}

/// Reads a stamp from the error queue; nothing: there is none.
std::optional<Stamp> read_stamp(int socket) noexcept {
  alignas(cmsghdr) std::array<std::byte, 512> control;
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
  return stamp_of(message);
}

}  // namespace

void DepartureStamps::open(int socket) noexcept {
  constexpr std::uint32_t kNone = 0, kHow = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                                            SOF_TIMESTAMPING_OPT_TSONLY;
  setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &kNone, sizeof kNone);
  const bool done = setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &kHow, sizeof kHow) == 0;
  trials_ = done ? kTrials : 0;
  next_ = 0;  // OPT_ID counts from when it was set
}

std::ptrdiff_t DepartureStamps::send(int socket, std::size_t frames) noexcept {
  known_ = 0;
  asked_ = trials_ > 0 && frames <= kMost ? frames : 0;
  msghdr message{};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof kAsked)> control{};
  if (asked_ > 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SO_TIMESTAMPING;
    part->cmsg_len = CMSG_LEN(sizeof kAsked);
    std::memcpy(CMSG_DATA(part), &kAsked, sizeof kAsked);
  }
  return sendmsg(socket, &message, MSG_DONTWAIT);
}

/// Stamps that come later than their send are left out. A frame that the kernel refuses has a
/// number, too: after it, the numbers begin anew.
void DepartureStamps::read(int socket, std::size_t taken) noexcept {
  if (asked_ == 0) return;
  std::size_t found = 0;
  while (const auto stamp = read_stamp(socket)) {
    const std::uint32_t place = stamp->number - next_;
    if (place >= asked_) continue;  // of an earlier send
    stamps_[place] = stamp->wall_ns;
    ++found;
  }
  if (taken < asked_) return open(socket);
  next_ += static_cast<std::uint32_t>(asked_);
  if (found == asked_) known_ = found;
  trials_ = known_ > 0 ? kTrials : trials_ - 1;
}

}  // namespace lw::nic

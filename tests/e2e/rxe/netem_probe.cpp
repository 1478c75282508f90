// SPDX-License-Identifier: BSD-3-Clause
// netem_probe OUT IN GAP_NS COUNT SIZE...
//
// Sends COUNT frames out of the interface OUT, one each GAP_NS, whose sizes in bytes (without FCS)
// go around, and takes them from the interface IN. Runs in the guest of netem.py. It prints
//   s NS            a frame was sent, in order, by the clock of the system, from the first on
//   r NUMBER NS BITS   a frame arrived; NS is the kernel's time stamp, BITS of it are wrong
// and ends 3 s after the last frame was sent or arrived.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <span>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <vector>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kQuiet = 3 * kSecond;
constexpr std::size_t kNumberAt = 14;  // three copies of the frame's number follow the header
constexpr std::size_t kSmallest = 60, kLargest = 1514;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "netem_probe: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::int64_t ns_of(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return ns_of(time);
}

/// A packet socket on an interface. `protocol` 0: it receives nothing.
int socket_on(const char* interface, std::uint16_t protocol) {
  const int opened = socket(AF_PACKET, SOCK_RAW, htons(protocol));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
  if (opened < 0 || address.sll_ifindex == 0 ||
      bind(opened, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail(interface);
  constexpr int kBuffer = 64 << 20, kOn = 1;
  setsockopt(opened, SOL_SOCKET, SO_SNDBUFFORCE, &kBuffer, sizeof kBuffer);
  setsockopt(opened, SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer);
  setsockopt(opened, SOL_SOCKET, SO_TIMESTAMPNS, &kOn, sizeof kOn);
  return opened;
}

/// Writes frame `number` into `frame`.
void compose(std::span<std::uint8_t> frame, std::uint32_t number) {
  constexpr std::array<std::uint8_t, kNumberAt> kHeader = {2, 0, 0, 0, 0,    2,    2,
                                                           0, 0, 0, 0, 0x01, 0x88, 0xb5};
  std::ranges::copy(kHeader, frame.begin());
  for (std::size_t i = kNumberAt; i < frame.size(); ++i)
    frame[i] = static_cast<std::uint8_t>(i < kNumberAt + 12 ? number >> (i - kNumberAt) % 4 * 8
                                                            : i * 7 + number);
}

/// Returns the number that two of its three copies agree on, bit by bit.
std::uint32_t number_of(std::span<const std::uint8_t> frame) {
  std::array<std::uint32_t, 3> copies{};
  std::memcpy(copies.data(), &frame[kNumberAt], sizeof copies);
  const auto [a, b, c] = copies;
  return (a & b) | (a & c) | (b & c);
}

class Probe {
 public:
  Probe(const char* out, const char* in, std::vector<std::size_t> sizes)
      : out_(socket_on(out, 0)), in_(socket_on(in, ETH_P_ALL)), sizes_(std::move(sizes)) {}

  void run(std::int64_t gap, std::uint32_t count) {
    start_ = now() + kSecond / 100;
    last_ = start_;
    while (sent_ < count || now() < last_ + kQuiet) {
      wait_until(sent_ < count ? start_ + sent_ * gap : last_ + kQuiet);
      receive();
      while (sent_ < count && now() >= start_ + sent_ * gap) send_next();
    }
  }

 private:
  void wait_until(std::int64_t when) const {
    const std::int64_t wait = std::max<std::int64_t>(when - now(), 0);
    const timespec timeout{wait / kSecond, wait % kSecond};
    pollfd ready{in_, POLLIN, 0};
    ppoll(&ready, 1, &timeout, nullptr);
  }

  void send_next() {
    std::array<std::uint8_t, kLargest> frame;
    const auto bytes = std::span(frame).first(sizes_[sent_ % sizes_.size()]);
    compose(bytes, sent_);
    last_ = now();
    std::printf("s %lld\n", static_cast<long long>(last_ - start_));
    // A frame that the qdisc drops is sent, too.
    if (send(out_, bytes.data(), bytes.size(), 0) < 0 && errno != ENOBUFS) fail("send");
    ++sent_;
  }

  void receive() {
    std::array<std::uint8_t, kLargest> frame, right;
    alignas(cmsghdr) std::array<char, 128> control;
    while (true) {
      iovec bytes{frame.data(), frame.size()};
      msghdr message{};
      message.msg_iov = &bytes;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      const ssize_t length = recvmsg(in_, &message, MSG_DONTWAIT);
      if (length < static_cast<ssize_t>(kSmallest)) return;
      const auto came = std::span(frame).first(static_cast<std::size_t>(length));
      const std::uint32_t number = number_of(came);
      compose(std::span(right).first(came.size()), number);
      int wrong = 0;
      for (std::size_t i = 0; i < came.size(); ++i)
        wrong += std::popcount(static_cast<unsigned>(came[i] ^ right[i]));
      last_ = stamp_of(message);
      std::printf("r %u %lld %d\n", number, static_cast<long long>(last_ - start_), wrong);
    }
  }

  static std::int64_t stamp_of(msghdr& message) {
    for (cmsghdr* item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item))
      if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS) {
        timespec time{};
        std::memcpy(&time, CMSG_DATA(item), sizeof time);
        return ns_of(time);
      }
    return now();
  }

  int out_, in_;
  std::vector<std::size_t> sizes_;
  std::int64_t start_ = 0, last_ = 0;
  std::uint32_t sent_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 6) return 2;
  std::vector<std::size_t> sizes;
  for (int i = 5; i < count; ++i)
    sizes.push_back(
        std::clamp<std::size_t>(std::strtoul(words[i], nullptr, 10), kSmallest, kLargest));
  prctl(PR_SET_TIMERSLACK, 1UL);
  static std::array<char, 1 << 20> buffer;
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  Probe(words[1], words[2], sizes)
      .run(std::strtoll(words[3], nullptr, 10),
           static_cast<std::uint32_t>(std::strtoul(words[4], nullptr, 10)));
}

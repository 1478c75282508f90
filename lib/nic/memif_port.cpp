// SPDX-License-Identifier: BSD-3-Clause
#include "nic/memif_port.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <functional>
#include <future>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>

#include <rte_alarm.h>

namespace lw::nic {
namespace {

/// Time for the other side to read the frames in the shared rings.
constexpr Duration kDrainTime = std::chrono::milliseconds(100);

/// Runs `work` in DPDK's interrupt thread and waits for it. memif's driver answers its peer there,
/// and crashes if a port is started, stopped or closed at the same time.
void run_in_interrupt_thread(std::function<void()> work) {
  struct Job {
    std::function<void()> work;
    std::promise<void> done;
  } job{std::move(work), {}};
  const auto run = [](void* argument) {
    auto* asked = static_cast<Job*>(argument);
    asked->work();
    asked->done.set_value();
  };
  if (rte_eal_alarm_set(1, run, &job) != 0) return job.work();
  job.done.get_future().wait();
}

/// The threads that are in a burst of a memif port. When a peer leaves, the driver marks the port
/// as disconnected and then unmaps its memory, in another thread and without waiting for bursts in
/// progress. Our munmap() below waits for them.
class MemifBursts {
 public:
  /// While this object lives, the calling thread is in a burst.
  class Burst {
   public:
    Burst() noexcept : flag_(own_flag()) { flag_.store(true); }
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;
    ~Burst() { flag_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& flag_;
  };

  /// Waits until all bursts of other threads that have begun have ended.
  static void wait() noexcept {
    const unsigned threads = std::min<unsigned>(threads_.load(), kMost);
    for (unsigned i = 0; i < threads; ++i)
      while (i != own_ && flags_[i].busy.load()) sched_yield();
  }

 private:
  static constexpr unsigned kMost = 64, kNone = ~0U;
  struct alignas(64) Flag {
    std::atomic<bool> busy;  // false
  };
  static std::atomic<bool>& own_flag() noexcept {
    if (own_ == kNone) own_ = std::min(threads_.fetch_add(1), kMost - 1);
    return flags_[own_].busy;
  }

  static inline std::array<Flag, kMost> flags_;
  static inline std::atomic<unsigned> threads_{0};
  static inline thread_local unsigned own_ = kNone;
};

}  // namespace

MemifPort::MemifPort(std::uint16_t id, const PortSpec& spec)
    : DpdkPort(id, spec), client_(!spec.as<MemifSpec>()->server) {}

/// Closing removes the shared rings with all frames that the other side hasn't read; memif doesn't
/// report their number.
MemifPort::~MemifPort() {
  if (is_started() && link_up() && stats().sent > 0) std::this_thread::sleep_for(kDrainTime);
  run_in_interrupt_thread([this] { close(); });
}

std::size_t MemifPort::receive(std::span<rte_mbuf*> out) noexcept {
  const MemifBursts::Burst burst;
  const auto count = rte_eth_rx_burst(id(), 0, out.data(), static_cast<std::uint16_t>(out.size()));
  if (count) received_.add(count);
  return count;
}

std::size_t MemifPort::send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept {
  const MemifBursts::Burst burst;
  const auto count =
      rte_eth_tx_burst(id(), queue, frames.data(), static_cast<std::uint16_t>(frames.size()));
  if (count) sent_.fetch_add(count, std::memory_order_relaxed);
  return count;
}

PortStats MemifPort::stats() const {
  PortStats now = DpdkPort::stats();
  now.received = received_.get();
  now.sent = sent_.load(std::memory_order_relaxed);
  const std::lock_guard lock(errors_);
  for (const auto counter : {&PortStats::missed, &PortStats::no_buffer, &PortStats::receive_errors,
                             &PortStats::send_errors}) {
    const std::uint64_t of_driver = now.*counter;
    if (of_driver < last_.*counter) before_.*counter += last_.*counter;
    last_.*counter = of_driver;
    now.*counter += before_.*counter;
  }
  return now;
}

bool MemifPort::try_link(Instant now) {
  if (is_started() && link_up()) return true;
  if (!client_) return false;
  // A client can't start before its server is there.
  if (!next_try_) next_try_ = is_started() ? now + retry_ : now;
  if (now >= *next_try_) {
    restart();
    next_try_ = now + retry_;
    retry_ = std::min(2 * retry_, kLastRetry);
  }
  return is_started() && link_up();
}

/// A client sends one request when it starts. If the server's device isn't ready, the request is
/// refused for good (4 of 25 times on a loaded machine), so the client starts again.
void MemifPort::restart() noexcept {
  run_in_interrupt_thread([this] {
    if (is_started() && link_up()) return;  // answered in the meantime
    stop();
    start();
  });
}

}  // namespace lw::nic

// Replacements of two functions of the C library for the whole process. Without them DPDK's memif
// driver would end the program.

extern "C" int munmap(void* address, std::size_t length) noexcept {
  static const auto next =
      reinterpret_cast<int (*)(void*, std::size_t)>(dlsym(RTLD_NEXT, "munmap"));
  lw::nic::MemifBursts::wait();
  return next(address, length);
}

/// Reports a message to a memif client that has left as sent. If sendmsg() fails, the driver closes
/// the socket but keeps waiting for it, and DPDK ends the program; reading the socket finds that
/// the client left. Only memif uses sockets of this type here.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static const auto next =
      reinterpret_cast<ssize_t (*)(int, const msghdr*, int)>(dlsym(RTLD_NEXT, "sendmsg"));
  const ssize_t sent = next(socket, message, flags | MSG_NOSIGNAL);
  int type = 0;
  socklen_t size = sizeof type;
  if (sent >= 0 || (errno != EPIPE && errno != ECONNRESET)) return sent;
  const int why = errno;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    errno = why;
    return sent;
  }
  return static_cast<ssize_t>(message->msg_iov->iov_len);
}

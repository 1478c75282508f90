// SPDX-License-Identifier: BSD-3-Clause
// One direction of roce-impair between two rings, every byte written before and read behind it: a
// sender on another core composes each frame into its buffer and takes back what comes out, whose
// ICRC it checks. Polls that find nothing to do are not work: they are not counted.
//
//   impair_ring PROFILE SECONDS FRAME_BYTES CORE SENDERS-CORE
//
// One JSON object on standard output.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "bench/impair_feed.h"
#include "impair/datapath/configuration.h"
#include "impair/datapath/port_io.h"
#include "impair/datapath/ports.h"
#include "roce/envelope.h"

namespace lw::impair {
namespace {

struct Options {
  std::string profile;
  unsigned seconds = 1, frame_bytes = 64;
  int core = 0, senders_core = 0;
};

/// The peers on both sides.
class Peer {
 public:
  Peer(const nic::Pool& pool, const Options& options)
      : pool_(pool.get()),
        in_(rte_ring_lookup("ETH_RXTX0_net_ring0")),
        out_(rte_ring_lookup("ETH_RXTX0_net_ring1")) {
    for (std::uint32_t psn = 0; psn < kTemplates; ++psn)
      templates_.push_back(bench::frame_of(options.frame_bytes, 0x100 + psn % 64, psn));
  }

  void send_burst() {
    std::array<rte_mbuf*, kBurst> frames;
    if (rte_ring_free_count(in_) < kBurst || rte_pktmbuf_alloc_bulk(pool_, frames.data(), kBurst))
      return;
    for (rte_mbuf* frame : frames) {
      const auto& bytes = templates_[sent_++ % kTemplates];
      std::memcpy(rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
                  bytes.size());
    }
    rte_ring_enqueue_bulk(in_, reinterpret_cast<void**>(frames.data()), kBurst, nullptr);
  }

  /// False: there was nothing.
  bool check_burst() {
    std::array<rte_mbuf*, kBurst> frames;
    const unsigned count =
        rte_ring_dequeue_burst(out_, reinterpret_cast<void**>(frames.data()), kBurst, nullptr);
    for (unsigned i = 0; i < count; ++i) {
      if (roce::check_icrc(envelope_of(frames[i])) != roce::IcrcVerdict::ok) ++bad_;
      rte_pktmbuf_free(frames[i]);
    }
    checked_ += count;
    return count > 0;
  }

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  [[nodiscard]] std::uint64_t bad() const { return bad_; }

 private:
  static constexpr unsigned kBurst = 32;
  static constexpr std::uint32_t kTemplates = 256;
  rte_mempool* pool_;
  rte_ring *in_, *out_;
  std::vector<std::vector<std::byte>> templates_;
  std::uint64_t sent_ = 0, checked_ = 0, bad_ = 0;
};

/// What the core had to do for all turns that moved something, in its seconds. Each is timed by the
/// engine's own clock: to ask the kernel for the thread's time takes most of a microsecond here, as
/// much as a turn. That is asked for once, and says what share of the time others had the core,
/// which falls on turns of both kinds alike.
double drive(PortForwarder& forwarder, const std::atomic<bool>& over) {
  const Instant begin = nic::now();
  const double core_before = bench::core_seconds();
  Duration worked{};
  while (!over.load(std::memory_order_relaxed)) {
    const Instant before = nic::now();
    if (forwarder.poll(emulator::Direction::west_to_east, true)) worked += nic::now() - before;
  }
  const double ours = bench::core_seconds() - core_before;
  const double all = static_cast<double>((nic::now() - begin).count()) * 1e-9;
  return static_cast<double>(worked.count()) * 1e-9 * ours / all;
}

/// Sends for so long, and takes back until nothing has come for longer than anything stays.
void send_and_check(Peer& peer, unsigned seconds) {
  const Instant start = nic::now();
  Instant last = start;
  while (nic::now() - last < std::chrono::milliseconds(200)) {
    if (nic::now() - start < std::chrono::seconds(seconds)) peer.send_burst();
    while (peer.check_burst()) last = nic::now();
  }
}

int run(const Options& options) {
  auto profile = config::load_impair_profile(options.profile);
  if (!profile) return fmt::print(stderr, "{}\n", profile.error().message), 2;
  RunConfig config;
  config.west = *nic::parse_port_spec("net_ring0");
  config.east = *nic::parse_port_spec("net_ring1");
  config.core = options.core;
  auto ports = open_ports(*profile, config);
  if (!ports) return fmt::print(stderr, "{}\n", ports.error().message), 3;
  const std::array ios = {
      PortIo(emulator::Direction::west_to_east, ports->west, ports->east, ports->pool.get())};
  PortForwarder forwarder(*profile, link_config(*profile), ios, nullptr);
  Peer peer(ports->pool, options);
  std::atomic<bool> over{false};
  std::jthread sender([&] {
    bench::pin(options.senders_core);
    send_and_check(peer, options.seconds);
    over = true;
  });
  const double worked = drive(forwarder, over);
  sender.join();
  const emulator::Accounting accounting =
      forwarder.link(emulator::Direction::west_to_east).accounting();
  const std::uint64_t received = accounting.direction.received.frames;
  const std::uint64_t matched = received - accounting.rules.back().received.frames;
  fmt::print(R"({{"frames_per_core_s":{:.0f},"received":{},"matched":{},"sent":{},"checked":{},)"
             R"("bad_icrc":{},"holds":{}}})"
             "\n",
             static_cast<double>(received) / worked, received, matched, peer.sent(), peer.checked(),
             peer.bad(), accounting.holds());
  return accounting.holds() ? 0 : 1;
}

}  // namespace
}  // namespace lw::impair

int main(int argc, char** argv) {
  using namespace lw::impair;
  using lw::bench::number;
  if (argc != 6) {
    fmt::print(stderr, "usage: {} PROFILE SECONDS FRAME_BYTES CORE SENDERS-CORE\n", argv[0]);
    return 2;
  }
  return run({argv[1], number(argv[2]), number(argv[3]), static_cast<int>(number(argv[4])),
              static_cast<int>(number(argv[5]))});
}

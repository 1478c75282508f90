// SPDX-License-Identifier: BSD-3-Clause
// The least that sending takes: a loop that takes buffers of roce-gen's pool, writes 64 B into each
// and hands them to a null port, in bursts of 32 frames of the size of a 1024 B WRITE. No flows, no
// times, no ICRC. What it reaches is what any sender of new frames reaches on this machine.
//
//   gen_bare SECONDS CORE
//
// One JSON object on standard output: frames per second of the loop's CPU time.
#include <array>
#include <cstring>

#include "bench/impair_feed.h"
#include "gen/tx/ports.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr std::size_t kHeaders = 14 + 20 + 8 + 12 + 16;  // Ethernet, IPv4, UDP, BTH, RETH
constexpr std::uint16_t kFrame = kHeaders + 1024 + 4;
constexpr std::size_t kWritten = 64;

/// A burst; returns how many frames were sent.
std::size_t send_burst(SendBuffers& buffers, nic::Port& port, std::uint64_t number) {
  std::array<rte_mbuf*, TxBurst::kFrames> burst;
  const auto frames = std::span(burst).first(buffers.allocate(burst));
  for (rte_mbuf* frame : frames) {
    SendBuffers::set_lengths(frame, kHeaders, kFrame);
    std::array<std::uint64_t, kWritten / sizeof number> words;
    words.fill(++number);
    std::memcpy(rte_pktmbuf_mtod(frame, char*), words.data(), kWritten);
  }
  const std::size_t sent = port.send(frames);
  for (rte_mbuf* frame : frames.subspan(sent)) rte_pktmbuf_free(frame);
  return sent;
}

int run(unsigned seconds, int core) {
  constexpr int kBurstsBetweenLooks = 1000;
  auto ports = Ports::open({"null"}, false, {.port = {}, .sends_flows = true});
  if (!ports) return fmt::print(stderr, "{}\n", ports.error().message), 3;
  nic::Port& port = ports->all().front();
  bench::pin(core);
  std::uint64_t sent = 0;
  const double before = bench::core_seconds();
  const Instant end = nic::now() + std::chrono::seconds(seconds);
  while (nic::now() < end)
    for (int i = 0; i < kBurstsBetweenLooks; ++i)
      sent += send_burst(ports->send_buffers(), port, sent);
  const double rate = static_cast<double>(sent) / (bench::core_seconds() - before);
  fmt::print(R"({{"frames_per_core_s":{:.0f},"sent":{}}})"
             "\n",
             rate, sent);
  return 0;
}

}  // namespace
}  // namespace lw::gen

int main(int argc, char** argv) {
  using lw::bench::number;
  if (argc != 3) return fmt::print(stderr, "usage: {} SECONDS CORE\n", argv[0]), 2;
  return lw::gen::run(number(argv[1]), static_cast<int>(number(argv[2])));
}

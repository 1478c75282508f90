// SPDX-License-Identifier: BSD-3-Clause
// A rule's libpcap expression over one frame: our machine (core/bpf.h), libpcap's, and DPDK's
// compiler to native code (rte_bpf). Arguments: which expression, and whether the frame is RoCE.
#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <pcap/pcap.h>
#include <rte_bpf.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "capture/filter.h"
#include "support/path_frames.h"

namespace lw {
namespace {

constexpr int kEthernet = 1;
const std::array<std::string, 3> kExpressions = {
    "udp dst port 4791", "tcp port 22 or arp or icmp",
    "ip and udp dst port 4791 and udp[8] = 0x04 and net 10.0.0.0/8 or vlan 7"};

std::vector<std::byte> frame_for(std::int64_t roce) {
  return roce ? test::roce_frame() : test::other_frame();
}

capture::Filter filter_for(const benchmark::State& state) {
  return *capture::Filter::compile(kExpressions[static_cast<std::size_t>(state.range(0))],
                                   kEthernet);
}

void ours(benchmark::State& state) {
  const auto program = *BpfProgram::create(filter_for(state).instructions());
  const auto frame = frame_for(state.range(1));
  for (auto _ : state)
    benchmark::DoNotOptimize(program.matches(frame, static_cast<std::uint32_t>(frame.size())));
  state.SetItemsProcessed(state.iterations());
}

void libpcaps(benchmark::State& state) {
  const auto filter = filter_for(state);
  const auto frame = frame_for(state.range(1));
  for (auto _ : state)
    benchmark::DoNotOptimize(filter.matches(frame, static_cast<std::uint32_t>(frame.size())));
  state.SetItemsProcessed(state.iterations());
}

/// rte_malloc() wants EAL.
void start_eal() {
  static const bool started = [] {
    std::array<std::string, 8> words = {"bench", "--no-huge", "--no-pci",       "--no-shconf",
                                        "-m",    "32",        "--no-telemetry", "--log-level=4"};
    std::array<char*, 8> argv;
    for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
    return rte_eal_init(static_cast<int>(argv.size()), argv.data()) >= 0;
  }();
  if (!started) std::abort();
}

rte_bpf* compiled(const std::string& expression) {
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> handle(pcap_open_dead(kEthernet, 65535),
                                                          pcap_close);
  bpf_program program{};
  if (pcap_compile(handle.get(), &program, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0)
    return nullptr;
  rte_bpf_prm* parameters = rte_bpf_convert(&program);
  pcap_freecode(&program);
  return parameters ? rte_bpf_load(parameters) : nullptr;
}

void dpdks(benchmark::State& state) {
  start_eal();
  rte_bpf* bpf = compiled(kExpressions[static_cast<std::size_t>(state.range(0))]);
  rte_bpf_jit jit{};
  if (!bpf || rte_bpf_get_jit(bpf, &jit) != 0 || !jit.func)
    return state.SkipWithError("DPDK doesn't compile it");
  auto frame = frame_for(state.range(1));
  rte_mbuf buffer{};
  buffer.buf_addr = frame.data();
  buffer.nb_segs = 1;
  buffer.data_len = static_cast<std::uint16_t>(frame.size());
  buffer.pkt_len = static_cast<std::uint32_t>(frame.size());
  for (auto _ : state) benchmark::DoNotOptimize(jit.func(&buffer));
  state.SetItemsProcessed(state.iterations());
  rte_bpf_destroy(bpf);
}

void each(benchmark::internal::Benchmark* b) { b->ArgsProduct({{0, 1, 2}, {0, 1}}); }

BENCHMARK(ours)->Apply(each);
BENCHMARK(libpcaps)->Apply(each);
BENCHMARK(dpdks)->Apply(each);

}  // namespace
}  // namespace lw

BENCHMARK_MAIN();

// SPDX-License-Identifier: BSD-3-Clause
// What any analysis of a capture has to do: libpcap reads each frame of a file, and a hash map
// counts them by destination QP. Prints frames, QPs and seconds. dissect_bench.py runs it.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include <pcap/pcap.h>

namespace {

/// Offset of the destination QP behind untagged Ethernet, IPv4 and UDP, and the BTH's end.
constexpr std::size_t kQp = 14 + 20 + 8 + 5, kBthEnd = 14 + 20 + 8 + 12;

std::uint32_t qp_of(const unsigned char* frame) {
  return static_cast<std::uint32_t>(frame[kQp] << 16 | frame[kQp + 1] << 8 | frame[kQp + 2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char error[PCAP_ERRBUF_SIZE];
  const auto begin = std::chrono::steady_clock::now();
  pcap_t* capture = pcap_open_offline(argv[1], error);
  if (capture == nullptr) {
    std::fprintf(stderr, "%s\n", error);
    return 2;
  }
  std::setvbuf(pcap_file(capture), nullptr, _IOFBF, 1 << 20);
  std::unordered_map<std::uint32_t, std::uint64_t> frames_of;
  pcap_pkthdr* header = nullptr;
  const unsigned char* bytes = nullptr;
  std::uint64_t frames = 0;
  while (pcap_next_ex(capture, &header, &bytes) == 1) {
    ++frames;
    if (header->caplen >= kBthEnd) ++frames_of[qp_of(bytes)];
  }
  pcap_close(capture);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu %zu %.6f\n", static_cast<unsigned long long>(frames), frames_of.size(),
              took.count());
  return 0;
}

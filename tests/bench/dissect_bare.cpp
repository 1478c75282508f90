// SPDX-License-Identifier: BSD-3-Clause
// What any analysis of a capture has to do: libpcap reads each frame of a file, its headers are
// read, its ICRC is checked with ISA-L, and a hash map has the frames of each destination QP at
// each address. Prints frames, QPs and seconds, and fails if the file has other frames than RoCEv2
// over untagged Ethernet and IPv4 with the right ICRC. dissect_bench.py runs it.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include <isa-l/crc.h>
#include <pcap/pcap.h>

namespace {

constexpr std::size_t kIp = 14, kUdp = kIp + 20, kBth = kUdp + 8, kBthEnd = kBth + 12, kIcrc = 4;

std::uint32_t read_be(const unsigned char* bytes, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[i];
  return value;
}

bool is_rocev2(const unsigned char* frame, std::size_t size) {
  return size >= kBthEnd + kIcrc && read_be(frame + 12, 2) == 0x0800 && frame[kIp] == 0x45 &&
         frame[kIp + 9] == 17 && read_be(frame + kUdp + 2, 2) == 4791;
}

/// The ICRC of InfiniBand, annex 17: over 8 bytes of ones and the packet from the IP header on, in
/// which the fields that a router may change are ones.
bool has_right_icrc(const unsigned char* frame, std::size_t size) {
  std::array<unsigned char, 8 + kBthEnd - kIp> head;
  head.fill(0xff);
  std::memcpy(head.data() + 8, frame + kIp, kBthEnd - kIp);
  constexpr std::size_t kChanged[] = {kIp + 1,  kIp + 8,  kIp + 10, kIp + 11,
                                      kUdp + 6, kUdp + 7, kBth + 4};
  for (const std::size_t at : kChanged) head[8 + at - kIp] = 0xff;
  std::uint32_t crc = crc32_gzip_refl(0, head.data(), head.size());
  crc = crc32_gzip_refl(crc, frame + kBthEnd, size - kBthEnd - kIcrc);
  std::uint32_t found;
  std::memcpy(&found, frame + size - kIcrc, kIcrc);
  return crc == found;
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
  std::unordered_map<std::uint64_t, std::uint64_t> frames_of;
  pcap_pkthdr* header = nullptr;
  const unsigned char* bytes = nullptr;
  std::uint64_t frames = 0, right = 0;
  while (pcap_next_ex(capture, &header, &bytes) == 1) {
    ++frames;
    if (!is_rocev2(bytes, header->caplen)) continue;
    right += has_right_icrc(bytes, header->caplen) ? 1 : 0;
    ++frames_of[std::uint64_t{read_be(bytes + kIp + 16, 4)} << 24 | read_be(bytes + kBth + 5, 3)];
  }
  pcap_close(capture);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu %zu %.6f\n", static_cast<unsigned long long>(frames), frames_of.size(),
              took.count());
  if (right == frames) return 0;
  std::fprintf(stderr, "%s: %llu of %llu frames are RoCEv2 with the right ICRC\n", argv[1],
               static_cast<unsigned long long>(right), static_cast<unsigned long long>(frames));
  return 1;
}

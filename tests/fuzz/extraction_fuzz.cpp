// SPDX-License-Identifier: BSD-3-Clause
// Any packets of two sessions, in any order, through the extraction of their data.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "analysis/extraction/extractor.h"

namespace {

using namespace lw;

/// Checks that bytes are where an image may have them.
class Checked final : public analysis::DataSink {
 public:
  bool place(std::uint32_t image, std::uint64_t position,
             std::span<const std::byte> bytes) override {
    if (bytes.empty() || analysis::room_behind(position, bytes.size()) < bytes.size()) std::abort();
    placed += bytes.size();
    return (position + image) % 61 != 0;  // now and then there is no room
  }
  void completed(const analysis::DataMessage& message) override {
    if (message.missing > message.bytes) std::abort();
  }

  std::uint64_t placed = 0;
};

/// Takes numbers from the front of the input; zeros behind its end.
struct Input {
  std::span<const std::uint8_t> rest;

  template <class T>
  T read() {
    T value{};
    const std::size_t length = std::min(sizeof(T), rest.size());
    std::memcpy(&value, rest.data(), length);
    rest = rest.subspan(length);
    return value;
  }
};

analysis::CapturedPacket packet_of(Input& input, std::uint64_t number) {
  analysis::CapturedPacket packet;
  packet.number = number;
  packet.info = wire::find_opcode(input.read<std::uint8_t>());
  const auto bits = input.read<std::uint8_t>();
  packet.psn = input.read<std::uint16_t>() & 0x1ffu;  // so that packets meet
  if ((bits & 1) != 0) packet.psn |= 0xfffe00;
  packet.has_reth = (bits & 2) != 0;
  packet.has_immediate = (bits & 4) != 0;
  packet.complete = (bits & 8) == 0;
  packet.va = (bits & 16) != 0 ? input.read<std::uint64_t>() : input.read<std::uint8_t>();
  packet.dma_length = (bits & 32) != 0 ? input.read<std::uint32_t>() : input.read<std::uint8_t>();
  packet.payload = (bits & 64) != 0 ? input.read<std::uint16_t>() : input.read<std::uint8_t>() & 15;
  packet.r_key = bits >> 7;
  return packet;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::byte kBytes[65536] = {};
  Input input{{data, size}};
  Checked sink;
  analysis::Extractor extractor({.bad_icrcs = size % 2 == 0}, sink);
  for (std::uint64_t number = 1; !input.rest.empty(); ++number) {
    const auto how = input.read<std::uint8_t>();
    const analysis::CapturedPacket packet = packet_of(input, number);
    const std::size_t cut = (how & 1) != 0 ? packet.payload / 2 : packet.payload;
    extractor.add({.packet = packet,
                   .bytes = std::span(kBytes).first(cut),
                   .operands = {number, packet.va},
                   .session = 1u + (how >> 1 & 1),
                   .direction = static_cast<std::uint8_t>(how >> 2 & 1),
                   .bad = (how & 8) != 0,
                   .mtu = (how & 16) != 0 ? 16u : 0u,
                   .first_psn = packet.psn});
  }
  extractor.finish();
  for (const analysis::DataImage& image : extractor.images()) {
    if (image.written.count() > sink.placed) std::abort();
    for (const auto& missing : image.written.missing_of(image.expected))
      if (!image.expected.touches(missing)) std::abort();
  }
  return 0;
}

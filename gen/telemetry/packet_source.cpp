// SPDX-License-Identifier: BSD-3-Clause
#include "gen/telemetry/packet_source.h"

#include <rte_mbuf.h>

namespace lw::gen {

Result<std::unique_ptr<CapturedPackets>> CapturedPackets::open(const std::string& path,
                                                               std::uint64_t times) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  return std::unique_ptr<CapturedPackets>(new CapturedPackets(std::move(*reader), path, times));
}

Result<void> CapturedPackets::read() {
  const auto record = reader_.next();
  if (!record) return std::unexpected(record.error());
  if (*record) {
    const capture::Record& packet = **record;
    if (const auto link = roce::link_of(reader_.interfaces()[packet.interface].link_type))
      waiting_ = roce::open_envelope(packet.bytes, packet.wire_length, *link);
    return {};
  }
  if (--left_ == 0) return {};
  auto again = capture::Reader::open(path_);
  if (!again) return std::unexpected(again.error());
  reader_ = std::move(*again);
  return {};
}

Result<std::size_t> CapturedPackets::poll(const OnPacket& on_packet) {
  std::size_t given = 0;
  while (!ended()) {
    if (waiting_) {
      if (!on_packet(*waiting_)) break;
      waiting_.reset();
      ++given;
    }
    if (auto done = read(); !done) return std::unexpected(done.error());
  }
  return given;
}

Result<std::size_t> PortPackets::poll(const OnPacket& on_packet) {
  const std::size_t count = port_.receive(buffers_);
  for (std::size_t i = 0; i < count; ++i) {
    const wire::Bytes bytes(rte_pktmbuf_mtod(buffers_[i], const std::byte*),
                            rte_pktmbuf_pkt_len(buffers_[i]));
    if (!on_packet(roce::open_envelope(bytes))) ++missed_;
  }
  rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(count));
  return count;
}

}  // namespace lw::gen

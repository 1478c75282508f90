// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_capture.h"

#include <algorithm>

#include "capture/writer.h"
#include "transport/packet_frame.h"

namespace lw::gen {

void PerfCapture::keep(Instant at, std::uint32_t interface, const transport::Packet& packet) {
  std::vector<std::byte> frame = transport::to_frame(packet);
  if (packet.icrc_wrong) frame.back() ^= std::byte{0xff};  // a corrupted packet's ICRC is wrong
  entries_.push_back({at, interface, std::move(frame)});
}

void PerfCapture::attach(sim::Simulation& simulation) {
  for (std::uint32_t i = 0; i < points_.size(); ++i) {
    const CapturePoint point = points_[i];
    const bool there = point == CapturePoint::client_out || point == CapturePoint::server_in;
    const bool out = point == CapturePoint::client_out || point == CapturePoint::server_out;
    sim::SimLink& link = simulation.link(there ? 0 : 1);
    (out ? link.on_enter : link.on_leave) = [this, i](Instant at, const transport::Packet& packet) {
      keep(at, i, packet);
    };
  }
}

Result<void> PerfCapture::write(const std::string& file) {
  // The sides of a simulation run one after the other: only each point is in order.
  std::ranges::stable_sort(entries_, {}, &Entry::at);
  std::vector<capture::Interface> interfaces(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i)
    interfaces[i].name = kCapturePoints[static_cast<std::size_t>(points_[i])];
  auto writer = capture::Writer::create(file, capture::Format::pcapng, interfaces);
  if (!writer) return std::unexpected(writer.error());
  for (const Entry& entry : entries_) {
    const auto size = static_cast<std::uint32_t>(entry.frame.size());
    if (auto wrote = writer->write(entry.at, entry.frame, size, entry.interface); !wrote)
      return wrote;
  }
  return writer->close();
}

}  // namespace lw::gen

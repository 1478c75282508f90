// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/perf_capture.h"

#include <algorithm>

#include "capture/writer.h"
#include "transport/packet_frame.h"

namespace lw::gen {

void PerfCapture::attach(sim::Simulation& simulation) {
  for (std::uint32_t line = 0; line < 2; ++line) {
    simulation.line(line).on_enter = [this, line](Instant at, const transport::Packet& packet) {
      entries_.push_back({at, line, transport::to_frame(packet)});
    };
  }
}

Result<void> PerfCapture::write(const std::string& file) {
  // Each side of a simulation runs by itself for a while, so only each line is in order.
  std::ranges::stable_sort(entries_, {}, &Entry::at);
  capture::Interface client, server;
  client.name = "client";
  server.name = "server";
  auto writer = capture::Writer::create(file, capture::Format::pcapng, {client, server});
  if (!writer) return std::unexpected(writer.error());
  for (const Entry& entry : entries_) {
    const auto size = static_cast<std::uint32_t>(entry.frame.size());
    if (auto wrote = writer->write(entry.at, entry.frame, size, entry.line); !wrote) return wrote;
  }
  return writer->close();
}

}  // namespace lw::gen

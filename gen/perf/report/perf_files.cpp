// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "capture/writer.h"
#include "transport/packet.h"

namespace lw::gen {

void PerfCapture::keep(Instant at, std::uint32_t interface, const transport::Packet& packet) {
  if (at > limits_.until) return;
  if (entries_.size() / 2 >= limits_.newest) drop_oldest();
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

void PerfCapture::drop_oldest() {
  // The simulation runs its sides one after the other, so the entries of each point are sorted, but
  // not all entries.
  std::ranges::stable_sort(entries_, {}, &Entry::at);
  if (entries_.size() <= limits_.newest) return;
  const auto surplus = static_cast<std::ptrdiff_t>(entries_.size() - limits_.newest);
  entries_.erase(entries_.begin(), entries_.begin() + surplus);
}

Result<void> PerfCapture::write(const std::string& file) {
  drop_oldest();
  std::vector<capture::Interface> interfaces(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i)
    interfaces[i].name = kCapturePoints[static_cast<std::size_t>(points_[i])];
  auto writer =
      capture::Writer::create(file, capture::Format::pcapng, interfaces, OutputFile::Mode::whole);
  if (!writer) return std::unexpected(writer.error());
  for (const Entry& entry : entries_) {
    const auto size = static_cast<std::uint32_t>(entry.frame.size());
    if (auto wrote = writer->write(entry.at, entry.frame, size, entry.interface); !wrote)
      return wrote;
  }
  return writer->close();
}

namespace {

constexpr Duration kInterval = std::chrono::microseconds(100);

double us_of(Duration duration) noexcept { return static_cast<double>(duration.count()) / 1000; }

}  // namespace

Result<PerfSeries> PerfSeries::open(const std::string& path) {
  PerfSeries series;
  if (path.empty()) return series;
  auto file = OutputFile::open(path, OutputFile::Mode::growing);
  if (!file) return std::unexpected(file.error());
  series.file_ = std::move(*file);
  series.file_->write("time_us,qp,rate_gbps,alpha,outstanding,retransmitted,rtt_us\n");
  return series;
}

void PerfSeries::attach(sim::Simulation& simulation, std::uint32_t qps) {
  if (!kept()) return;
  auto others = simulation.link(0).on_enter;
  simulation.link(0).on_enter = [this, &simulation, qps, others](Instant at,
                                                                 const transport::Packet& packet) {
    if (others) others(at, packet);
    if (!due(at)) return;
    for (std::uint32_t i = 0; i < qps; ++i) add(at, i, simulation.host(0).qp(i));
  };
}

bool PerfSeries::due(Instant at) noexcept {
  if (at < last_) next_ = Instant{};
  last_ = at;
  if (at < next_) return false;
  next_ = at + kInterval;
  return true;
}

void PerfSeries::add(Instant at, std::uint32_t qp, const transport::QueuePair& pair) {
  const auto& requester = pair.requester();
  const bool limits = pair.config().rate_control != transport::RateControl::none;
  const std::string rate = limits ? fmt::format("{:.4f}", pair.pacing().rate_bps() / 1e9) : "";
  file_->write(fmt::format("{:.3f},{},{},{:.3f},{},{},{:.3f}\n", us_of(at - Instant{}), qp, rate,
                           pair.pacing().reaction().alpha(at), requester.outstanding_psns(),
                           requester.counters().retransmitted, us_of(requester.round_trip())));
}

Result<void> PerfSeries::close() { return file_ ? file_->close() : Result<void>{}; }

}  // namespace lw::gen

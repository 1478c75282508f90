// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/output.h"
#include "sim/simulation.h"

namespace lw::gen {

/// Where packets of a simulation of two hosts are captured: `out` when their last byte has left a
/// port, `in` when the path delivers them.
enum class CapturePoint : std::uint8_t { client_out, server_in, server_out, client_in };
inline constexpr std::array<std::string_view, 4> kCapturePoints = {"client-out", "server-in",
                                                                   "server-out", "client-in"};

/// Captures the frames at points of a simulation in memory and writes them as pcapng, with one
/// interface for each point.
class PerfCapture {
 public:
  /// What is kept of a run: all of it by default.
  struct Limits {
    Instant until = Instant::max();
    std::size_t newest = ~std::size_t{0};  // frames, those before are dropped
  };

  /// Points in the order of their interfaces, each once.
  explicit PerfCapture(std::vector<CapturePoint> points) : PerfCapture(std::move(points), {}) {}
  PerfCapture(std::vector<CapturePoint> points, const Limits& limits)
      : points_(std::move(points)), limits_(limits) {}

  /// Call before the run, which it outlives.
  void attach(sim::Simulation& simulation);
  Result<void> write(const std::string& file);

 private:
  struct Entry {
    Instant at;
    std::uint32_t interface = 0;
    std::vector<std::byte> frame;
  };
  void keep(Instant at, std::uint32_t interface, const transport::Packet& packet);
  /// Leaves the newest that the limits allow, in the order of time.
  void drop_oldest();

  std::vector<CapturePoint> points_;
  Limits limits_;
  std::vector<Entry> entries_;
};

/// State of a client's QPs over time, as CSV: a row per QP each 100 us, when packets leave
/// (simulated) or the client polls (real time). Columns:
/// `time_us`, `qp`, `rate_gbps` (allowed by congestion control; empty: no limit),
/// `alpha` (in 1024ths), `outstanding` (PSNs not acknowledged), `retransmitted` (packets so far),
/// `rtt_us` (smoothed; 0 before the first).
class PerfSeries {
 public:
  /// An empty path writes nothing. Errors (environment): the file can't be written.
  static Result<PerfSeries> open(const std::string& path);

  /// Whether a file is written.
  [[nodiscard]] bool kept() const noexcept { return file_.has_value(); }
  /// Call before a simulated run, which this outlives. Keeps the link's other listener.
  void attach(sim::Simulation& simulation, std::uint32_t qps);
  /// Whether rows are due. `at`: time since the run's start; a smaller value starts another run.
  bool due(Instant at) noexcept;
  /// Adds a row.
  void add(Instant at, std::uint32_t qp, const transport::QueuePair& pair);
  /// Errors (environment): the file is incomplete.
  Result<void> close();

 private:
  std::optional<OutputFile> file_;
  Instant next_, last_;
};

}  // namespace lw::gen

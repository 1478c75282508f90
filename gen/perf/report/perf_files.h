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

/// Points of a simulation of two hosts at which packets are captured: `out` when their last byte
/// has left a port, `in` when the path delivers them.
enum class CapturePoint : std::uint8_t { client_out, server_in, server_out, client_in };
inline constexpr std::array<std::string_view, 4> kCapturePoints = {"client-out", "server-in",
                                                                   "server-out", "client-in"};

/// Captures frames at points of a simulation in memory, and writes them as pcapng with one
/// interface per point.
class PerfCapture {
 public:
  /// The frames to keep; by default all frames of a run.
  struct Limits {
    Instant until = Instant::max();
    std::size_t newest = ~std::size_t{0};  // number of frames to keep; older ones are dropped
  };

  /// `points`: in the order of their interfaces, each once.
  explicit PerfCapture(std::vector<CapturePoint> points) : PerfCapture(std::move(points), {}) {}
  PerfCapture(std::vector<CapturePoint> points, const Limits& limits)
      : points_(std::move(points)), limits_(limits) {}

  /// Starts capturing. Call it before the run; must outlive the run.
  void attach(sim::Simulation& simulation);
  Result<void> write(const std::string& file);

 private:
  struct Entry {
    Instant at;
    std::uint32_t interface = 0;
    std::vector<std::byte> frame;
  };
  void keep(Instant at, std::uint32_t interface, const transport::Packet& packet);
  /// Drops the oldest frames until the limits hold. Keeps the order of time.
  void drop_oldest();

  std::vector<CapturePoint> points_;
  Limits limits_;
  std::vector<Entry> entries_;
};

/// The state of a client's QPs over time as CSV: one row per QP every 100 us, when packets leave
/// (simulated) or the client polls (real time). Columns: `time_us`, `qp`, `rate_gbps` (allowed by
/// congestion control; empty: no limit), `alpha` (in 1024ths), `outstanding` (PSNs not
/// acknowledged), `retransmitted` (packets so far), `rtt_us` (smoothed; 0 before the first
/// measurement).
class PerfSeries {
 public:
  /// Opens the file; with an empty path nothing is written. Errors (environment): the file can't be
  /// written.
  static Result<PerfSeries> open(const std::string& path);

  /// Returns true if a file is written.
  [[nodiscard]] bool kept() const noexcept { return file_.has_value(); }
  /// Call before a simulated run; must outlive the run. Other listeners of the link stay attached.
  void attach(sim::Simulation& simulation, std::uint32_t qps);
  /// Returns true if rows are due. `at`: time since the start of the run; a smaller value than
  /// before starts another run.
  bool due(Instant at) noexcept;
  /// Adds a row.
  void add(Instant at, std::uint32_t qp, const transport::QueuePair& pair);
  /// Closes the file. Error (environment): it is incomplete.
  Result<void> close();

 private:
  std::optional<OutputFile> file_;
  Instant next_, last_;
};

}  // namespace lw::gen

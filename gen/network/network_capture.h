// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "capture/writer.h"
#include "core/error.h"
#include "sim/network/network.h"

namespace lw::gen {

/// Writes the frames that ports of a simulated network send, with right ICRCs and zero payloads, to
/// a pcapng file: an interface for each port, the frames in the order of time.
class NetworkCapture {
 public:
  /// Frames of a file; later ones are counted, not written. 10 million are about 10 GB at 1 KiB.
  static constexpr std::uint64_t kMostFrames = 10'000'000;

  /// `points`: "FROM:TO", the port of one node that leads to a neighbour; of several cables between
  /// them, all, or with "FROM:TO#2" the second. Errors (usage): no such port; (environment) the
  /// file cannot be written.
  static Result<NetworkCapture> create(const std::string& file,
                                       const std::vector<std::string>& points,
                                       const sim::Topology& topology);

  /// Starts capturing. Call it before the run; must outlive the run, and must not move during it.
  void attach(sim::Network& network);
  [[nodiscard]] std::uint64_t further() const noexcept { return further_; }
  /// Writes what is left. Errors: those of capture::Writer::close().
  Result<void> close();

 private:
  struct Point {
    std::uint32_t cable = 0;
    bool forward = false;
  };
  struct Entry {
    Instant at;
    std::uint64_t number = 0;  // order among equal times
    std::uint32_t interface = 0;
    std::vector<std::byte> frame;
    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  NetworkCapture(std::vector<Point> points, capture::Writer writer)
      : points_(std::move(points)), writer_(std::move(writer)) {}
  static Result<std::vector<Point>> find(const std::string& point, const sim::Topology& topology);
  void keep(Instant at, std::uint32_t interface, const transport::Packet& packet,
            Instant complete_until);
  void write_until(Instant end);

  std::vector<Point> points_;
  capture::Writer writer_;
  // A port enters a frame when its turn comes, which may be before its last bit leaves: frames wait
  // here until the clock has passed them.
  std::priority_queue<Entry> waiting_;
  std::uint64_t frames_ = 0, further_ = 0;
};

}  // namespace lw::gen

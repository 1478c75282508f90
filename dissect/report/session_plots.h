// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/analyst.h"
#include "dissect/report/thin_series.h"

namespace lw::dissect {

/// Plot data of the requests of one direction of a session, and of the responses to them. PSNs are
/// relative to the first one of the direction.
struct DirectionPlots {
  static constexpr std::size_t kMostPoints = 1500;  // of a series
  static constexpr std::size_t kMostEvents = 2500;  // of NAKs, and of packets that came again
  /// Kinds of `intervals`.
  static constexpr std::size_t kPayload = 0;  // bytes, each once
  static constexpr std::size_t kMarked = 1;   // requests with a CE mark
  static constexpr std::size_t kCnps = 2;     // CNPs to the sender of the requests
  /// Number of `latency` classes per power of two.
  static constexpr int kClasses = 8;

  /// Requests that are kept before and after a packet that came again, or a NAK.
  static constexpr std::size_t kAround = 16;

  ThinSeries requests{kMostPoints};   // PSN, when first seen
  ThinSeries around{kMostEvents};     // those of `requests` near NAKs and packets that came again
  ThinSeries again{kMostEvents};      // PSN of a packet behind the highest
  ThinSeries acks{kMostPoints};       // PSN
  ThinSeries naks{kMostEvents};       // PSN; RNR NAKs too
  ThinSeries responses{kMostPoints};  // PSN, of READs and atomics
  ThinSeries responses_again{kMostEvents};  // PSN
  ThinSeries outstanding{kMostPoints};      // bytes that are not acknowledged
  ThinSeries rtt{kMostPoints};              // ns, at the time of the response
  IntervalSums intervals;
  std::map<int, std::uint64_t> latency;  // messages by class of ns, floor(kClasses * log2(ns))
  std::int64_t since = 0;                // ns: earlier points are missing
  bool is_cut = false;                   // whether there are earlier points
  std::uint32_t first_psn = 0;           // first PSN: relative PSNs begin with it

  /// `requests` and `around` in the order of time, each point once.
  [[nodiscard]] std::vector<SeriesPoint> all_requests() const;

  std::vector<SeriesPoint> before = {};  // the last requests, at most 2 * kAround
  std::size_t still_around = 0;          // number of following requests that `around` takes too

  // Requests that are not acknowledged: one past their PSNs, and the bytes of all requests up to
  // them.
  struct Waiting {
    analysis::Sequence end = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Waiting> waiting = {};
  std::size_t oldest_waiting = 0;  // entries before it were acknowledged
  std::uint64_t sent_bytes = 0, acknowledged_bytes = 0;
};

/// Collects the plot data of a capture, in bounded memory. If the sessions hold too many points,
/// only those of the kMostHeld worst sessions stay, and any other session begins again with its
/// next packet.
class SessionPlots final : public analysis::PacketObserver {
 public:
  static constexpr std::size_t kMostHeld = 64;
  /// Limit of the points of all sessions, about 100 MB; beyond it most are removed.
  static constexpr std::ptrdiff_t kMostPoints = 2'000'000;

  explicit SessionPlots(std::ptrdiff_t most_points = kMostPoints)
      : most_points_(most_points), limit_(most_points) {}

  void followed(const analysis::Session& session, std::uint8_t direction,
                const analysis::CapturedPacket& packet, bool taken) override;
  /// Adds a message of a session that is followed.
  void completed(const analysis::Message& message);

  /// Time 0 of all series: the stamp of the first packet.
  [[nodiscard]] Instant start() const noexcept { return start_.value_or(Instant{}); }
  /// Converts a stamp to ns since start(); the stamp must be within 73 years of it.
  [[nodiscard]] std::int64_t time_of(Instant stamp) const noexcept;
  /// Returns the sessions that are held, at most `most`, the worst first.
  [[nodiscard]] std::vector<const analysis::Session*> worst(std::size_t most) const;
  /// Null: not held.
  [[nodiscard]] const DirectionPlots* find(std::uint32_t session, std::uint8_t direction) const;

 private:
  /// Data that remains after a session's plots were removed.
  struct Progress {
    std::optional<analysis::Sequence> base;        // the PSN that relative PSNs begin with
    analysis::Sequence end = 0, response_end = 0;  // one past the highest
    std::uint64_t payload = 0, rtts = 0;           // counts of the stream so far
    bool begun = false;
  };
  struct Held {
    const analysis::Session* session = nullptr;
    std::unique_ptr<DirectionPlots> directions[2];
  };

  /// The plots of a packet, and its PSN: whole, and relative to the first.
  struct Place {
    DirectionPlots& plots;
    Progress& progress;
    analysis::Sequence psn;
    std::int64_t value;
  };

  Place place_of(const analysis::Session& session, std::uint8_t direction,
                 const analysis::RequestStream& stream, const analysis::CapturedPacket& packet);
  Progress& progress_of(std::uint32_t session, std::uint8_t direction);
  DirectionPlots& plots_of(const analysis::Session& session, std::uint8_t direction,
                           const analysis::CapturedPacket& packet);
  void add(ThinSeries& series, const analysis::CapturedPacket& packet, std::int64_t value);
  /// Adds a NAK or a packet that came again, and keeps the requests around it.
  void add_event(DirectionPlots& plots, ThinSeries& series, const analysis::CapturedPacket& packet,
                 std::int64_t value);
  void add_new_request(DirectionPlots& plots, const analysis::CapturedPacket& packet,
                       std::int64_t value);
  void add_marks(const analysis::Session& session, std::uint8_t direction,
                 const analysis::CapturedPacket& packet);
  void add_request(const analysis::Session& session, std::uint8_t direction,
                   const analysis::CapturedPacket& packet);
  void add_response(const analysis::Session& session, std::uint8_t direction,
                    const analysis::CapturedPacket& packet);
  void add_state(DirectionPlots& plots, Progress& progress, const analysis::RequestStream& stream,
                 const analysis::CapturedPacket& packet);
  void add_outstanding(DirectionPlots& plots, const analysis::RequestStream& stream,
                       const analysis::CapturedPacket& packet);
  void give_up_most();

  std::optional<Instant> start_;
  std::unordered_map<std::uint32_t, Held> held_;
  std::vector<std::array<Progress, 2>> progress_;  // by the session's number - 1
  std::ptrdiff_t points_ = 0;  // of all sessions that are held, intervals included
  std::ptrdiff_t most_points_, limit_;
};

/// Returns at most `most` sessions, the worst first: those with the most recoveries, NAKs, losses,
/// copies and damaged packets; among equal ones, those with the most packets.
std::vector<const analysis::Session*> worst_of(std::vector<const analysis::Session*> sessions,
                                               std::size_t most);

}  // namespace lw::dissect

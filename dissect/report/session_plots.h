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

/// What plots show of the requests of one direction of a session, and of the responses to them.
/// Values of PSNs are relative to the first one of the direction.
struct DirectionPlots {
  static constexpr std::size_t kMostPoints = 1500;  // of a series
  static constexpr std::size_t kMostEvents = 2500;  // of NAKs, and of packets that came again
  /// Kinds of `intervals`.
  static constexpr std::size_t kPayload = 0;  // bytes, each once
  static constexpr std::size_t kMarked = 1;   // requests with the mark CE
  static constexpr std::size_t kCnps = 2;     // that tell the sender of the requests
  /// Classes of `latency` in each power of two.
  static constexpr int kClasses = 8;

  /// Requests that are kept before and behind a packet that came again, or a NAK.
  static constexpr std::size_t kAround = 16;

  ThinSeries requests{kMostPoints};         // PSN, when it was first seen
  ThinSeries around{kMostEvents};           // of these, the ones around NAKs and what came again
  ThinSeries again{kMostEvents};            // PSN, of one behind the highest
  ThinSeries acks{kMostPoints};             // PSN
  ThinSeries naks{kMostEvents};             // PSN; RNR NAKs too
  ThinSeries responses{kMostPoints};        // PSN, of READs and atomics
  ThinSeries responses_again{kMostEvents};  // PSN
  ThinSeries outstanding{kMostPoints};      // bytes that wait for their acknowledgement
  ThinSeries rtt{kMostPoints};              // ns, when the answer came
  IntervalSums intervals;
  std::map<int, std::uint64_t> latency;  // messages by class of ns, floor(kClasses * log2(ns))
  std::int64_t since = 0;                // ns: what came before is missing
  bool is_cut = false;                   // something came before
  std::uint32_t first_psn = 0;           // that relative PSNs begin with

  /// `requests` and `around` in the order of their times, each once.
  [[nodiscard]] std::vector<SeriesPoint> all_requests() const;

  std::vector<SeriesPoint> before = {};  // the last requests, at most 2 * kAround
  std::size_t still_around = 0;          // number of the next requests that `around` takes too

  // Requests that are not acknowledged: behind their PSNs, and the bytes of all up to them.
  struct Waiting {
    analysis::Sequence end = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Waiting> waiting = {};
  std::size_t oldest_waiting = 0;  // those in front were acknowledged
  std::uint64_t sent_bytes = 0, acknowledged_bytes = 0;
};

/// Collects what the plots of a capture show, in bounded memory: where many sessions hold too many
/// points, only those of the kMostHeld worst stay, and another one begins anew with its next
/// packet.
class SessionPlots final : public analysis::PacketObserver {
 public:
  static constexpr std::size_t kMostHeld = 64;
  /// Points of all sessions after which most are given up: about 100 MB.
  static constexpr std::ptrdiff_t kMostPoints = 2'000'000;

  explicit SessionPlots(std::ptrdiff_t most_points = kMostPoints)
      : most_points_(most_points), limit_(most_points) {}

  void followed(const analysis::Session& session, std::uint8_t direction,
                const analysis::Packet& packet, bool taken) override;
  /// A message of a session that is followed.
  void completed(const analysis::Message& message);

  /// Time 0 of all series: the stamp of the first packet.
  [[nodiscard]] Instant start() const noexcept { return start_.value_or(Instant{}); }
  /// ns from start() on; within 73 years of it.
  [[nodiscard]] std::int64_t time_of(Instant stamp) const noexcept;
  /// The sessions that are held, at most `most`, the worst first.
  [[nodiscard]] std::vector<const analysis::Session*> worst(std::size_t most) const;
  /// Null: none is held.
  [[nodiscard]] const DirectionPlots* find(std::uint32_t session, std::uint8_t direction) const;

 private:
  /// What goes on where a session was given up.
  struct Progress {
    std::optional<analysis::Sequence> base;        // that relative PSNs begin with
    analysis::Sequence end = 0, response_end = 0;  // behind the highest
    std::uint64_t payload = 0, rtts = 0;           // of the stream's counts
    bool begun = false;
  };
  struct Held {
    const analysis::Session* session = nullptr;
    std::unique_ptr<DirectionPlots> directions[2];
  };

  /// Where a packet belongs: the plots, and its PSN, whole and relative to the first.
  struct Place {
    DirectionPlots& plots;
    Progress& progress;
    analysis::Sequence psn;
    std::int64_t value;
  };

  Place place_of(const analysis::Session& session, std::uint8_t direction,
                 const analysis::RequestStream& stream, const analysis::Packet& packet);
  Progress& progress_of(std::uint32_t session, std::uint8_t direction);
  DirectionPlots& plots_of(const analysis::Session& session, std::uint8_t direction,
                           const analysis::Packet& packet);
  void add(ThinSeries& series, const analysis::Packet& packet, std::int64_t value);
  /// A NAK, or a packet that came again: what is around it is kept.
  void add_event(DirectionPlots& plots, ThinSeries& series, const analysis::Packet& packet,
                 std::int64_t value);
  void add_new_request(DirectionPlots& plots, const analysis::Packet& packet, std::int64_t value);
  void add_marks(const analysis::Session& session, std::uint8_t direction,
                 const analysis::Packet& packet);
  void add_request(const analysis::Session& session, std::uint8_t direction,
                   const analysis::Packet& packet);
  void add_response(const analysis::Session& session, std::uint8_t direction,
                    const analysis::Packet& packet);
  void add_state(DirectionPlots& plots, Progress& progress, const analysis::RequestStream& stream,
                 const analysis::Packet& packet);
  void add_outstanding(DirectionPlots& plots, const analysis::RequestStream& stream,
                       const analysis::Packet& packet);
  void give_up_most();

  std::optional<Instant> start_;
  std::unordered_map<std::uint32_t, Held> held_;
  std::vector<std::array<Progress, 2>> progress_;  // by the session's number - 1
  std::ptrdiff_t points_ = 0;                      // of all that are held; intervals count too
  std::ptrdiff_t most_points_, limit_;
};

/// The worst first, at most `most`: those with the most recoveries, NAKs, losses, copies and
/// damaged packets; of equal ones, those with the most packets.
std::vector<const analysis::Session*> worst_of(std::vector<const analysis::Session*> sessions,
                                               std::size_t most);

}  // namespace lw::dissect

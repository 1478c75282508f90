// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/check/passage_log.h"
#include "analysis/findings/finding_log.h"
#include "analysis/link_load.h"
#include "analysis/pause_log.h"
#include "analysis/qp_flows.h"
#include "analysis/requests/request_stream.h"
#include "analysis/setup/setup_log.h"

namespace lw::analysis {

/// A connection at one capture point: two flows that belong together, or one whose other
/// direction was not found. Direction 0 is that of the first requests.
struct Session {
  struct Direction {
    std::uint32_t flow = QpFlow::kNone;
    std::unique_ptr<RequestStream> stream;  // its requests, and the responses to them
    std::unique_ptr<PassageLog> passages;   // of these; null where `stream` is
    std::uint64_t packets = 0;              // of the flow, whatever they are
    std::uint64_t congested = 0;            // with the ECN mark CE
    std::uint64_t markable = 0;             // that queues may mark, or have marked, without CNPs
    std::uint64_t cnps = 0;                 // sent along this direction
    std::uint64_t bad_icrcs = 0;
    std::uint64_t cut_by_mirror = 0;  // frames that are shorter than their IP packets
    std::optional<std::uint16_t> p_key;
    std::uint64_t first_congested = 0, first_cnp = 0;  // frames; 0: none
    Instant last_cnp;
    std::unique_ptr<CompactHistogram> cnp_spacing;  // ns; null: fewer than two CNPs
  };

  std::uint32_t number = 0;  // from 1, in order of appearance
  Direction directions[2];
  Instant first, last;  // stamps
  std::uint64_t first_frame = 0;
  std::uint32_t setup = 0;  // number of its set-up, from 1, in SetupLog::setups(); 0: not captured
};

/// Sees each packet of the connections that are followed, in the order of the capture.
class PacketObserver {
 public:
  PacketObserver() = default;
  PacketObserver(const PacketObserver&) = delete;
  PacketObserver& operator=(const PacketObserver&) = delete;
  virtual ~PacketObserver() = default;
  /// `direction` is that of the packet's flow. `taken`: the streams of the session have just taken
  /// it; otherwise its receiver drops it, because of a bad ICRC or a reserved opcode. The session
  /// lives as long as the analyst.
  virtual void followed(const Session& session, std::uint8_t direction,
                        const CapturedPacket& packet, bool taken) = 0;
};

/// Follows all connections of a capture: frames in, anomalies, messages and sessions out. It looks
/// kLookAhead frames ahead before it judges one, because flows that belong together and the
/// path MTU are known only after some packets. No clock, no I/O; one thread.
class Analyst {
 public:
  static constexpr std::size_t kLookAhead = 65536;

  /// Packets of connections beyond this are counted, not followed.
  static constexpr std::size_t kMostSessions = 20'000;

  /// Entries of all PassageLogs, 64 bytes each.
  static constexpr std::uint32_t kMostPassages = 1'000'000;

  /// Rows of 16 packets in all LinkLoads, 16 bytes each: of the first 16 million packets.
  static constexpr std::uint32_t kMostLoadRows = 1'000'000;

  /// `observer` may be null.
  explicit Analyst(Results& results, PacketObserver* observer = nullptr)
      : results_(results), observer_(observer) {}

  /// The next frame, in the order of the capture.
  void add(const SeenFrame& seen) { add(reader_.read(seen)); }
  void add(const KeyedPacket& keyed);
  /// Brings into the cache what add() needs for the next packets, of which the first come first.
  /// Worth it with many flows: the data of 20,000 connections fits into no cache.
  void fetch(std::span<const KeyedPacket> next) const noexcept {
    constexpr std::size_t kPlace = 16, kFlow = 8;
    if (!has_many_flows()) [[likely]]
      return;
    if (next.size() > kPlace) flows_.fetch_place(next[kPlace].hash);
    if (next.size() > kFlow) flows_.fetch_recent(next[kFlow].hash);
  }
  /// Pause frames, which the caller adds.
  [[nodiscard]] PauseLog& pauses() noexcept { return pauses_; }
  [[nodiscard]] const PauseLog& pauses() const noexcept { return pauses_; }
  /// What passed beside the connections: the caller adds what is in frames of other protocols.
  [[nodiscard]] SetupLog& setups() noexcept { return setups_; }
  [[nodiscard]] const SetupLog& setups() const noexcept { return setups_; }
  /// The set-up of a session, after finish(); null: it was not captured.
  [[nodiscard]] const ConnectionSetup* setup_of(const Session& session) const noexcept {
    return session.setup == 0 ? nullptr : &setups_.setups()[session.setup - 1];
  }
  /// Follows the oldest packet that waits, with a shorter look-ahead. Returns false if none waits.
  bool follow_oldest();
  /// The capture has ended: judges all that waits.
  void finish();

  [[nodiscard]] const QpFlows& flows() const noexcept { return flows_; }
  [[nodiscard]] const std::deque<Session>& sessions() const noexcept { return sessions_; }
  /// What the capture shows about itself. Call it after finish().
  [[nodiscard]] const CaptureFacts& facts() const noexcept { return facts_; }
  /// How busy the links to the capture's hosts are, by the index of QpFlow::target.
  [[nodiscard]] const std::vector<LinkLoad>& loads() const noexcept { return loads_; }
  /// Packets of connections beyond kMostSessions, and of flows beyond QpFlows::kMostFlows.
  [[nodiscard]] std::uint64_t unfollowed() const noexcept { return unfollowed_; }

 private:
  [[nodiscard]] bool has_many_flows() const noexcept { return flows_.size() > kFewFlows; }
  void fetch_waiting() const noexcept;
  void add_rare(const KeyedPacket& keyed, std::uint32_t flow);
  void move(const MovedPackets& moved);
  void follow(const CapturedPacket& packet);
  void note_load(const CapturedPacket& packet);
  void process(Session& session, std::uint8_t direction, const CapturedPacket& packet);
  /// Null: there are too many.
  Session* session_of(const CapturedPacket& packet);
  Session* begin_session(const CapturedPacket& packet);
  void share_memory();
  void mark_sample();
  void report_findings();
  void report_findings_of(std::span<const std::uint32_t> places, const CaptureFacts& capture);
  RequestStream& stream_of(Session& session, std::uint8_t direction);
  [[nodiscard]] StreamSetup setup_for(const Session& session, std::uint8_t direction) const;
  void decide_again(Session& session, std::uint8_t direction, const CapturedPacket& packet);
  [[nodiscard]] std::uint32_t request_mtu_of(const Session& session, std::uint8_t direction) const;
  [[nodiscard]] bool has_other_mtu(const Session& session, std::uint8_t direction) const;
  void count(Session& session, Session::Direction& direction, std::uint8_t index,
             const CapturedPacket& packet);
  bool is_trimmed(Session& session, std::uint8_t direction, const CapturedPacket& packet);
  bool is_dropped(Session& session, std::uint8_t direction, const CapturedPacket& packet);
  void finish(Session& session);
  void judge_congestion(const Session& session);
  void judge_plateau(const Session& session, std::uint8_t direction);

  static constexpr std::size_t kFewFlows = 512;  // these fit into the near caches

  Results& results_;
  FindingLog log_;
  PacketObserver* observer_;
  PacketReader reader_;
  QpFlows flows_;
  std::vector<CapturedPacket>
      waiting_;  // the look-ahead: a ring of up to kLookAhead, from oldest_ on
  std::size_t oldest_ = 0, waiting_count_ = 0;
  std::unordered_map<std::uint64_t, IcrcError> explanations_;  // of bad ICRCs, by frame
  std::deque<Session> sessions_;
  StreamMemory memory_;  // of each stream
  Instant end_;
  std::uint64_t unfollowed_ = 0;
  PauseLog pauses_;
  std::vector<LinkLoad> loads_;
  std::uint32_t load_rows_ = kMostLoadRows;  // that may still be kept
  std::uint32_t passages_ = kMostPassages;   // entries that may still be kept
  SetupLog setups_;
  CaptureFacts facts_;
};

}  // namespace lw::analysis

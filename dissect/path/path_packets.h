// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "dissect/path/path_points.h"

namespace lw::dissect {

/// What happened to a packet between two neighbouring points.
enum class HopEvent : std::uint8_t {
  lost,     // seen where it came from, and not where it went
  late,     // arrived behind packets of its flow that were sent after it (RFC 4737)
  copied,   // a further copy that the other point did not see
  damaged,  // arrived with a wrong ICRC
  missed,   // not captured at the point that it passed first: the other one has it
};

/// A packet with a event between two points.
struct PacketEvent {
  std::uint32_t packet = 0;
  std::uint16_t segment = 0;  // between points `segment` and `segment` + 1
  HopEvent what{};
  std::uint32_t behind = 0;  // late: the newest packet before which it was sent
};

/// A flow of which a point has no frame, though the other point has many, and both have others.
struct UnrecordedFlow {
  std::uint32_t flow = 0;   // index into PathPoints::flows
  std::uint32_t point = 0;  // the one without
  std::uint64_t frames = 0;
  bool goes_far = false;
};

/// The packets that passed a path, each once: at which points it was seen, and what happened to it
/// between them.
///
/// Each has a time: that at the point next to the host which sends most requests of its address
/// pair (its reference), by the first point's clock. A packet that this point did not see has the
/// time at which it would have passed: its stamp at the nearest point that saw it, and the shorter
/// delay of the two packets of its direction around it that both saw.
class PathPackets {
 public:
  static constexpr std::uint32_t kUnseen = ~0U;
  /// Flows with fewer frames may be lost as a whole.
  static constexpr std::uint64_t kFewFrames = 8;

  explicit PathPackets(const PathPoints& path);

  [[nodiscard]] std::size_t size() const noexcept { return times_.size(); }
  /// The order of its record at a point; kUnseen.
  [[nodiscard]] std::uint32_t at(std::uint32_t packet, std::size_t point) const {
    return at_[point][packet];
  }
  [[nodiscard]] bool goes_far(std::uint32_t packet) const { return goes_far_[packet]; }
  [[nodiscard]] std::int64_t time_ns(std::uint32_t packet) const { return times_[packet]; }
  /// Whether its reference did not see it, so that its time is computed.
  [[nodiscard]] bool is_placed(std::uint32_t packet) const {
    return analysed_at(packet) != reference_of(packet);
  }
  /// The point whose frame is analysed: the reference, or the nearest one that saw the packet.
  [[nodiscard]] std::size_t analysed_at(std::uint32_t packet) const;
  [[nodiscard]] CaptureRecord record(std::uint32_t packet, std::size_t point) const {
    return path_.points[point].records[at(packet, point)];
  }
  [[nodiscard]] CaptureRecord analysed(std::uint32_t packet) const {
    return record(packet, analysed_at(packet));
  }
  /// The packet of a record.
  [[nodiscard]] std::uint32_t packet_of(std::size_t point, std::uint32_t order) const {
    return packets_[point][order];
  }
  /// The packet of a frame, by its number; nothing: no point's record has it.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t frame) const;

  /// The earliest time of a packet; nothing: there is none.
  [[nodiscard]] std::optional<Instant> begin() const;
  /// The packets to analyse, in the order of their times: all but copies.
  [[nodiscard]] std::vector<std::uint32_t> in_order() const;
  /// Sorted by packet.
  [[nodiscard]] const std::vector<PacketEvent>& events() const noexcept { return events_; }
  /// Those of the packets of a flow.
  [[nodiscard]] std::span<const PacketEvent> events_of(std::uint32_t flow) const noexcept {
    return by_flow_[flow];
  }
  /// The event of a packet, the first one of several; null: it passed all points.
  [[nodiscard]] const PacketEvent* event_of(std::uint32_t packet) const noexcept;
  [[nodiscard]] bool has(std::uint32_t packet, HopEvent what) const noexcept;
  [[nodiscard]] const std::vector<UnrecordedFlow>& unrecorded() const noexcept {
    return unrecorded_;
  }
  /// The last point of the packet's way, and the first one.
  [[nodiscard]] std::size_t last_point(std::uint32_t packet) const {
    return goes_far(packet) ? path_.size() - 1 : 0;
  }
  [[nodiscard]] std::size_t first_point(std::uint32_t packet) const {
    return goes_far(packet) ? 0 : path_.size() - 1;
  }
  [[nodiscard]] const PathPoints& path() const noexcept { return path_; }

 private:
  /// Stamps of the packets that two neighbours saw, of one direction: by their order at either.
  struct Difference {
    std::uint32_t order;
    std::int64_t far_minus_near;
  };
  struct SegmentClock {
    std::array<std::array<std::vector<Difference>, 2>, 2> by;  // at near or far; to near or to far
    /// Far's stamp minus near's, as with the shorter delay of the packets of the direction before
    /// and behind.
    [[nodiscard]] std::int64_t at(bool at_far, bool goes_far, std::uint32_t order) const;
  };
  struct Links;

  void note_directions(Links& links) const;
  void join(const Links& links);
  void bridge();
  void find_unrecorded();
  [[nodiscard]] bool is_unrecorded(const CaptureRecord& record) const;
  void add_events(const Links& links);
  void add_ends(const Links& links, std::uint32_t packet);
  void add_late(std::size_t segment, bool goes_far);
  void add_times();
  void add_references();
  [[nodiscard]] std::size_t reference_of(std::uint32_t packet) const;
  [[nodiscard]] std::int64_t stamp_at(std::uint32_t packet, std::size_t from, std::size_t to) const;

  const PathPoints& path_;
  std::vector<std::vector<std::uint32_t>> at_;       // by point and packet
  std::vector<std::vector<std::uint32_t>> packets_;  // by point and order
  std::vector<bool> goes_far_;
  std::vector<std::int64_t> times_;
  std::vector<PacketEvent> events_;
  std::vector<std::vector<PacketEvent>> by_flow_;
  std::vector<UnrecordedFlow> unrecorded_;
  std::vector<bool> unrecorded_flows_;  // by flow
  std::vector<bool> far_reference_;     // by flow
  std::vector<SegmentClock> clocks_;    // by segment
};

}  // namespace lw::dissect

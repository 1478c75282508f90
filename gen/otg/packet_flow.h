// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "core/chance.h"
#include "gen/otg/host.h"
#include "gen/otg/packet_frame.h"
#include "gen/otg/plan.h"
#include "gen/otg/port_hub.h"
#include "gen/otg/stamps.h"
#include "gen/traffic/pacer.h"
#include "nic/stamp_clock.h"

namespace lw::gen::otg {

/// What arrived of a flow. Frames and bytes with FCS are of all that came; a copy of a frame counts
/// again there.
struct PacketArrivals {
  std::uint64_t frames = 0, bytes = 0;
  std::uint64_t copies = 0;  // that signatures show
  LatencyOfPackets latency;
  std::optional<Instant> first;
  Instant last{};
  analysis::SequenceTracker tracker{0};
};

/// Frames and bits per second on the wire in the last interval.
struct PacketRates {
  double sent_frames = 0, received_frames = 0;
  double sent_bytes = 0, received_bytes = 0;  // with FCS
};

/// A flow of packets while it runs: what is due, what was sent and what arrived. One thread.
class PacketFlow {
 public:
  enum class State : std::uint8_t { stopped, started, paused };
  /// Number of flow 0 in signatures: those of QPs are below.
  static constexpr std::uint32_t kFirstNumber = 0x800000;

  /// What a flow sends through; it outlives the flow.
  struct Port {
    PortHub& hub;
    double line_bps = 0;  // 0: unknown
  };
  /// `number`: from 0, below 2^23; of no other flow. `hosts` are the plan's, and outlive the flow,
  /// as the plan and the clock do.
  PacketFlow(PlannedPackets planned, std::uint32_t number, const LabPlan& plan,
             const std::vector<std::unique_ptr<LabHost>>& hosts, const Port& port,
             const nic::StampClock& clock);
  PacketFlow(const PacketFlow&) = delete;
  PacketFlow& operator=(const PacketFlow&) = delete;

  /// Counters begin at 0.
  void start(Instant now);
  void resume(Instant now);
  void pause(Instant now);
  void stop() noexcept { state_ = State::stopped; }

  /// Sends the frames that are due, a burst at most. Returns how many.
  std::size_t send_due(Instant now);
  /// Time until the next frame is due; Duration::max() if there is none.
  [[nodiscard]] Duration pause_until_due(Instant now) const noexcept;
  /// Neighbours that devices of the flow send to have not answered yet.
  [[nodiscard]] bool waits() const noexcept { return state_ == State::started && !resolved_; }

  /// Counts a frame that has the signature of this flow.
  void count_signed(const wire::SignatureFields& signature, std::size_t length);
  /// Counts a frame without room for a signature, if it has the headers of this flow.
  bool count_plain(wire::Bytes frame);

  /// Measures rates over `seconds`.
  void sample(double seconds) noexcept;

  [[nodiscard]] const PlannedPackets& planned() const noexcept { return planned_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const SentFrames& sent() const noexcept { return sent_; }
  [[nodiscard]] const PacketArrivals& arrivals() const noexcept { return arrivals_; }
  [[nodiscard]] const PacketRates& rates() const noexcept { return rates_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return flow_ - kFirstNumber; }
  /// Where signatures are in its frames, in bytes from their start.
  [[nodiscard]] std::size_t payload_at() const noexcept { return frames_.front().layout().payload; }

 private:
  bool resolve(Instant now);
  void begin(Instant now);
  [[nodiscard]] Duration time_of(const FlowTime& time) const noexcept;
  [[nodiscard]] Instant due() const noexcept;
  [[nodiscard]] bool ended(Instant due) const noexcept;
  void send_one();
  void note_arrival(std::size_t length);

  const PlannedPackets planned_;
  std::uint32_t flow_;  // number in signatures
  const LabPlan& plan_;
  PortHub& hub_;
  const std::vector<std::unique_ptr<LabHost>>& hosts_;
  double line_bps_;
  const nic::StampClock& clock_;
  std::vector<PacketFrame> frames_;  // one for each pair of ends, which take turns
  Chance sizes_;
  config::Rate rate_;
  Pacer pacer_;

  State state_ = State::stopped;
  bool resolved_ = false;
  std::uint16_t run_;         // of the signatures: another one after each start
  std::uint64_t number_ = 0;  // of the next frame
  Instant begin_{};           // from which due times count
  Duration extra_{0};         // gaps between bursts
  Duration used_{0};          // time that earlier parts of the run took
  SentFrames sent_, sampled_sent_;
  PacketArrivals arrivals_;
  std::uint64_t sampled_frames_ = 0, sampled_bytes_ = 0;
  PacketRates rates_;
};

/// A flow of QPs or of packets.
struct NamedFlow {
  std::string_view name;
};

/// All flows of packets of a configuration, which come and go while it runs. One thread.
class PacketFlows final : public FrameWatch {
 public:
  using Flows = std::vector<std::unique_ptr<PacketFlow>>;

  /// A number that no flow has.
  [[nodiscard]] std::uint32_t free_number() const noexcept;
  void add(std::unique_ptr<PacketFlow> flow);
  /// No frame of these flows may wait in a port's burst.
  void remove(const std::vector<std::string>& names);

  /// Sends what is due. Returns whether a frame was sent.
  bool send_due(Instant now);
  /// Time until a frame is due; Duration::max() if none will be.
  [[nodiscard]] Duration pause_until_due(Instant now) const noexcept;
  void sample(double seconds) noexcept;
  [[nodiscard]] const Flows& all() const noexcept { return flows_; }
  [[nodiscard]] std::vector<NamedFlow> names() const;

  /// Counts a frame of a flow that the port receives. Returns false if it is of none.
  bool count_frame(std::size_t port, wire::Bytes frame) override;

 private:
  void set_tables();

  Flows flows_;
  std::vector<PacketFlow*> by_number_;  // null: a free number
  std::vector<std::size_t> places_;     // of signatures in frames, each once
  std::vector<PacketFlow*> plain_;      // flows with frames that have no room for a signature
};

}  // namespace lw::gen::otg

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "emulator/events/cm_exchange.h"
#include "emulator/events/event.h"
#include "emulator/events/event_targets.h"
#include "emulator/events/qp_table.h"
#include "roce/plain_rocev2.h"
#include "wire/mad.h"

namespace lw::emulator {

/// The targeted events of one direction. Learns the QPs from passing packets: their order of
/// appearance, and the first PSN of each stream, which is the first one seen, or the one in the
/// connection set-up if that was seen. Once the last QP that an event waits for has appeared, a
/// packet to another QP costs one look at a bit; once all events have happened, it costs nothing.
///
/// One thread. Nothing is allocated after construction.
class Events {
 public:
  static constexpr std::size_t kTrackedQps = 65'536;

  /// Takes the events of `events` that apply to this direction.
  Events(Direction direction, std::span<const EventConfig> events,
         std::size_t tracked_qps = kTrackedQps);

  /// Returns the events' actions on this packet. Call it for every RoCEv2 packet, in order. `bth`
  /// is bth_of(envelope), not null.
  [[nodiscard]] EventActions on_packet(const roce::Envelope& envelope,
                                       const wire::Bth& bth) noexcept;

  /// Prefetches the state of the QPs of frames that come next. `bytes_of(frame)` returns a frame's
  /// bytes. Requires listening(). Only plain frames have a QP at the expected place; whether a
  /// frame is plain is checked later.
  template <class Frame, class BytesOf>
  void fetch(std::span<const Frame> frames, BytesOf bytes_of) const noexcept {
    if (!pending()) return;
    for (const Frame frame : frames) {
      const wire::Bytes bytes = bytes_of(frame);
      if (bytes.size() >= roce::kPlainEnd && is_wanted(roce::plain_bth(bytes).dest_qp.get()))
        fetch(bytes);
    }
  }

  /// Largest number of frames for look_ahead().
  static constexpr std::size_t kMostTogether = 64;
  /// Returns which of at most kMostTogether frames on_packet() must see: bit i stands for
  /// frames[i]. Prefetches the state of their QPs. `bytes_of(frame)` returns a frame's bytes.
  /// Requires listening().
  template <class Frame, class BytesOf>
  [[nodiscard]] std::uint64_t look_ahead(std::span<const Frame> frames, BytesOf bytes_of) noexcept {
    keep_up();
    std::uint64_t concerned = 0;
    for (std::size_t i = 0; i < frames.size(); ++i)
      concerned |= std::uint64_t{may_concern(bytes_of(frames[i]))} << i;
    if (pending())
      for (std::uint64_t rest = concerned; rest; rest &= rest - 1)
        fetch(bytes_of(frames[static_cast<std::size_t>(std::countr_zero(rest))]));
    return concerned;
  }

  /// Returns true if on_packet() must see packets to this QP. Requires listening().
  [[nodiscard]] bool concerns(std::uint32_t dest_qp) const noexcept {
    return dest_qp == wire::kGeneralServicesQp ||
           (pending() && (all_ != EventTargets::kNobody || is_wanted(dest_qp)));
  }

  /// Takes the connection set-up messages that the other direction has seen. The queue has room for
  /// a few bursts.
  void keep_up() noexcept {
    if (pending() && exchange_) hear_others();
  }

  /// Exchanges connection set-up messages with the events of the other direction from now on: a
  /// request passes one way, its reply the other. Call it before the first packet.
  void join(std::shared_ptr<CmExchange> exchange) { exchange_ = std::move(exchange); }

  /// Takes over from the events that this object replaces: the QPs that were learnt and, if the
  /// events begin with the same ones (`continues`), all counters. Allocates nothing; visits each QP
  /// once.
  void inherit(Events& old, bool continues) noexcept;

  /// Returns true if on_packet() has something to do.
  [[nodiscard]] bool listening() const noexcept { return pending() || exchange_; }
  [[nodiscard]] bool pending() const noexcept { return targets_.pending() != 0; }
  [[nodiscard]] std::vector<EventOutcome> outcomes() const { return targets_.outcomes(); }
  [[nodiscard]] std::size_t qps() const noexcept { return seen_; }
  /// Number of packets to QPs for which there was no room.
  [[nodiscard]] std::uint64_t untracked() const noexcept { return untracked_; }

 private:
  using Group = EventTargets::Group;
  /// Groups of events by order of appearance or by QPN.
  using Groups = std::unordered_map<std::uint32_t, Group>;

  void add(const EventConfig& event);
  /// Requires pending(). QP 1 is always wanted, because its packets set up connections.
  [[nodiscard]] bool is_wanted(std::uint32_t dest_qp) const noexcept {
    return dest_qp == wire::kGeneralServicesQp || seen_ < last_number_ || wanted_.may_hold(dest_qp);
  }
  /// True for frames that aren't plain, because they must be opened to know.
  [[nodiscard]] bool may_concern(wire::Bytes frame) const noexcept {
    return !roce::is_plain_rocev2(frame) || concerns(roce::plain_bth(frame).dest_qp.get());
  }
  /// Prefetches the state of the frame's QP; does nothing if the frame isn't plain.
  void fetch(wire::Bytes frame) const noexcept {
    if (roce::is_plain_rocev2(frame))
      qps_.fetch(roce::qp_key(roce::plain_ipv4(frame), roce::plain_bth(frame).dest_qp.get()));
  }
  [[nodiscard]] QpState* track(const roce::Envelope& envelope, std::uint32_t dest_qp) noexcept;
  void hear(const roce::Envelope& envelope, const wire::Bth& bth) noexcept;
  void hear(const roce::CmSighting& sighting) noexcept;
  void hear_others() noexcept;
  void learn(const roce::CmConnection& connection) noexcept;
  void number(QpState& qp, std::uint32_t dest_qp) noexcept;
  void find_groups(QpState& qp, std::uint32_t dest_qp) noexcept;
  void hit(Group& group, const PacketPlace& place, EventActions& aimed) noexcept;

  EventTargets targets_;
  Groups by_number_, by_qpn_;
  Group all_ = EventTargets::kNobody;
  QpTable qps_;
  Direction direction_;
  roce::CmLearner cm_;
  std::shared_ptr<CmExchange> exchange_;
  QpFilter wanted_;                // QPs for which an event may wait
  std::uint32_t last_number_ = 0;  // every QP is wanted until this many have been seen
  std::uint32_t seen_ = 0;
  std::uint64_t untracked_ = 0;
};

}  // namespace lw::emulator

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "emulator/events/cm_learner.h"
#include "emulator/events/event.h"
#include "emulator/events/event_targets.h"
#include "emulator/events/qp_table.h"
#include "roce/plain_rocev2.h"
#include "wire/mad.h"

namespace lw::emulator {

/// The targeted events of one direction. It learns the QPs from the packets that pass: their order
/// of appearance, and the PSN that each stream begins with, which is the first one seen, or what
/// the connection manager said where it was heard. Once the last QP that an event waits for has
/// come, a packet of another costs a look at a bit; once all events have happened, nothing.
///
/// One thread. Nothing is allocated after construction.
class Events {
 public:
  static constexpr std::size_t kTrackedQps = 65'536;

  /// Those of `events` that are for this direction.
  Events(Direction direction, std::span<const EventConfig> events,
         std::size_t tracked_qps = kTrackedQps);

  /// What is to be done to this packet; call it for every RoCEv2 packet, in order. `bth` is
  /// bth_of(envelope), not null.
  [[nodiscard]] EventActions on_packet(const roce::Envelope& envelope,
                                       const wire::Bth& bth) noexcept;

  /// Hints that these frames come next: what is known of their QPs is fetched at once.
  /// `bytes_of(frame)` are a frame's. Only when listening(). X  /// plain one has its QP; whether
  /// it is one is looked at later.
  template <class Frame, class BytesOf>
  void fetch(std::span<const Frame> frames, BytesOf bytes_of) const noexcept {
    if (!pending()) return;
    for (const Frame frame : frames) {
      const wire::Bytes bytes = bytes_of(frame);
      if (bytes.size() >= roce::kPlainEnd && is_wanted(roce::plain_bth(bytes).dest_qp.get()))
        fetch(bytes);
    }
  }

  /// Frames that are looked through together.
  static constexpr std::size_t kMostTogether = 64;
  /// Which of these frames, kMostTogether at most, on_packet() must see: bit i is that of
  /// frames[i]. All others it needn't. What is known of these ones' QPs is fetched. `bytes_of` and
  /// when: as above.
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

  /// Whether on_packet() has anything to do with a packet to this QP. Only when listening().
  [[nodiscard]] bool concerns(std::uint32_t dest_qp) const noexcept {
    return dest_qp == wire::kGeneralServicesQp ||
           (pending() && (all_ != EventTargets::kNobody || is_wanted(dest_qp)));
  }

  /// Hears what the other direction has said meanwhile; it has room for some bursts' worth.
  void keep_up() noexcept {
    if (pending() && exchange_) hear_others();
  }

  /// From now on passes connection set-up to the events of the other direction, and gets theirs:
  /// a request passes one way and its reply the other. Before the first packet.
  void join(std::shared_ptr<CmExchange> exchange) { exchange_ = std::move(exchange); }

  /// Takes over from the events that these are about to replace: the QPs that were learnt, and,
  /// where these are those and more behind them (`continues`), all that was counted. Nothing is
  /// allocated; it looks at each QP once.
  void inherit(Events& old, bool continues) noexcept;

  /// on_packet() has something to do.
  [[nodiscard]] bool listening() const noexcept { return pending() || exchange_; }
  [[nodiscard]] bool pending() const noexcept { return targets_.pending() != 0; }
  [[nodiscard]] std::vector<EventOutcome> outcomes() const { return targets_.outcomes(); }
  [[nodiscard]] std::size_t qps() const noexcept { return seen_; }
  /// Packets to QPs for which there was no room.
  [[nodiscard]] std::uint64_t untracked() const noexcept { return untracked_; }

 private:
  using Group = EventTargets::Group;
  /// What waits for the QPs of a number, or of a QPN.
  using Groups = std::unordered_map<std::uint32_t, Group>;

  void add(const EventConfig& event);
  /// Only when pending(). QP 1 tells of connections.
  [[nodiscard]] bool is_wanted(std::uint32_t dest_qp) const noexcept {
    return dest_qp == wire::kGeneralServicesQp || seen_ < last_number_ || wanted_.may_hold(dest_qp);
  }
  /// Of a packet that isn't a plain one nothing is known without opening it.
  [[nodiscard]] bool may_concern(wire::Bytes frame) const noexcept {
    return !roce::is_plain_rocev2(frame) || concerns(roce::plain_bth(frame).dest_qp.get());
  }
  /// Hints that its QP is asked for next; nothing for one that isn't a plain one.
  void fetch(wire::Bytes frame) const noexcept {
    if (roce::is_plain_rocev2(frame))
      qps_.fetch(qp_key(roce::plain_ipv4(frame), roce::plain_bth(frame).dest_qp.get()));
  }
  [[nodiscard]] QpState* track(const roce::Envelope& envelope, std::uint32_t dest_qp) noexcept;
  void hear(const roce::Envelope& envelope, const wire::Bth& bth) noexcept;
  void hear(const CmSighting& sighting) noexcept;
  void hear_others() noexcept;
  void learn(const CmConnection& connection) noexcept;
  void number(QpState& qp, std::uint32_t dest_qp) noexcept;
  void find_groups(QpState& qp, std::uint32_t dest_qp) noexcept;
  void hit(Group& group, const PacketPlace& place, EventActions& aimed) noexcept;

  EventTargets targets_;
  Groups by_number_, by_qpn_;
  Group all_ = EventTargets::kNobody;
  QpTable qps_;
  Direction direction_;
  CmLearner cm_;
  std::shared_ptr<CmExchange> exchange_;
  QpFilter wanted_;                // QPs for which something may wait
  std::uint32_t last_number_ = 0;  // every QP is wanted until this many have been seen
  std::uint32_t seen_ = 0;
  std::uint64_t untracked_ = 0;
};

}  // namespace lw::emulator

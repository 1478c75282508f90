// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "path/events/cm_exchange.h"
#include "path/events/cm_learner.h"
#include "path/events/event.h"
#include "path/events/event_targets.h"
#include "path/events/qp_table.h"
#include "path/match/qp_filter.h"

namespace lw::path {

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
  [[nodiscard]] Aimed on_packet(const roce::Envelope& envelope, const wire::Bth& bth) noexcept;

  /// Hints that these frames come to on_packet() next: what is known of their QPs is fetched, all
  /// at once. `bytes_of(frame)` are a frame's.
  template <class Frame, class BytesOf>
  void look_ahead(std::span<const Frame> frames, BytesOf bytes_of) const noexcept {
    std::array<QpKey, 32> keys;
    std::size_t count = 0;
    for (const Frame& frame : frames) {
      const auto key = key_of_wanted(bytes_of(frame));
      if (!key) continue;
      qps_.fetch_place(*key);
      keys[count++] = *key;
      if (count == keys.size()) break;
    }
    for (std::size_t i = 0; i < count; ++i) qps_.fetch_entry(keys[i]);
  }

  /// From now on connection set-up is told to the other direction's events, and heard from them:
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
  [[nodiscard]] bool is_wanted(std::uint32_t dest_qp) const noexcept;
  /// Nothing where the QP isn't tracked, or the packet isn't a plain one.
  [[nodiscard]] std::optional<QpKey> key_of_wanted(wire::Bytes frame) const noexcept;
  [[nodiscard]] QpState* track(const roce::Envelope& envelope, std::uint32_t dest_qp) noexcept;
  void hear(const roce::Envelope& envelope, const wire::Bth& bth) noexcept;
  void hear(const CmSighting& sighting) noexcept;
  void hear_others() noexcept;
  void learn(const CmConnection& connection) noexcept;
  void number(QpState& qp, std::uint32_t dest_qp) noexcept;
  void find_groups(QpState& qp, std::uint32_t dest_qp) noexcept;
  void hit(Group& group, const PacketPlace& place, Aimed& aimed) noexcept;

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

}  // namespace lw::path

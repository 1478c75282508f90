// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/traffic/flow_wheel.h"
#include "gen/traffic/sorted_ring.h"

namespace lw::gen {

/// Turns in their order, one a flow: those of flows that take turns evenly on a belt, the others on
/// a wheel. Which one a turn goes to costs time only; the order is the same.
class FlowQueue {
 public:
  static constexpr Duration kNever = Duration::max();

  /// `turns` have each flow at most once, and numbers below `flows`. `slot` is about the time of
  /// eight turns; any will do, but far off it costs speed.
  FlowQueue(std::size_t flows, Duration slot, std::vector<DueFlow> turns);

  [[nodiscard]] bool empty() const noexcept { return belt_.empty() && wheel_.empty(); }
  // Of one that isn't empty:
  [[nodiscard]] const DueFlow& first() const noexcept {
    return on_belt_ ? belt_.at(0) : wheel_.first();
  }
  /// No turn but the first comes before this; it may be early, never late.
  [[nodiscard]] Duration others_from() const noexcept {
    if (!on_belt_) return std::min(belt_from(0), wheel_.others_from());
    return std::min(belt_from(1), wheel_from());
  }
  /// The first flow's next turn, not before the one it had. True when the wheel() begins another
  /// slot.
  bool put_back(Duration at) noexcept;
  bool remove_first() noexcept;

  /// Turns that follow each other, from the first one on; not all, and often none.
  [[nodiscard]] std::span<const DueFlow> row() const noexcept {
    if (!on_belt_) return {};
    return belt_.row();
  }
  /// Of a row, those before this may be taken.
  [[nodiscard]] Duration row_until() const noexcept { return wheel_from(); }
  /// Takes the first next.size() turns of the row, each with its flow's next turn or kNever; none
  /// of these is before the last of those.
  void take_round(std::span<const Duration> next) noexcept;

  /// `use(flow)` of the belt's turns from number `begin` to before `end`, as far as there are.
  template <class Use>
  void for_belt(std::size_t begin, std::size_t end, Use use) const noexcept {
    end = std::min(end, belt_.size());
    for (std::size_t i = begin; i < end; ++i) use(belt_.at(i).flow);
  }
  [[nodiscard]] const FlowWheel& wheel() const noexcept { return wheel_; }

 private:
  [[nodiscard]] Duration belt_from(std::size_t i) const noexcept {
    return i < belt_.size() ? belt_.at(i).at : kNever;
  }
  [[nodiscard]] Duration wheel_from() const noexcept {
    return wheel_.empty() ? kNever : wheel_.first().at;
  }
  [[nodiscard]] bool goes_on_belt(const DueFlow& turn, Duration before) const noexcept {
    return turn.at - before <= reach_ && belt_.takes(turn);
  }
  void insert(const DueFlow& turn, Duration before) noexcept;
  bool take_first() noexcept {
    if (!on_belt_) return wheel_.remove_first();
    belt_.take_off();
    return false;
  }
  void choose() noexcept {
    on_belt_ = !belt_.empty() && (wheel_.empty() || belt_.at(0) < wheel_.first());
  }

  Duration reach_;  // a longer way to the next turn is none for the belt: all would wait behind it
  SortedRing belt_;
  FlowWheel wheel_;
  bool on_belt_ = false;  // the first one is
};

}  // namespace lw::gen

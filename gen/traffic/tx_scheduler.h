// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gen/traffic/flow_queue.h"
#include "gen/traffic/hot_flow.h"

namespace lw::gen {

/// The next frame of a TxScheduler; valid until its advance().
struct DueFrame {
  std::size_t flow = 0;  // index in the profile's flows
  Duration at{};         // due time, from the run's start
  const FrameTemplate* frame = nullptr;
  VariableFields fields;  // without the send time
  bool ends_message = false;
  std::optional<config::FaultKind> fault;

  /// Frame size in bytes, without FCS.
  [[nodiscard]] std::size_t size() const noexcept { return frame->size(fields); }
};

/// The frames of all flows of a profile by due time; of frames due at the same time, the flow that
/// is earlier in the profile comes first. The order depends on the profile only. There are two ways
/// to take the same frames: one at a time by next() and advance(), or in batches by poll(), hot()
/// and reschedule(). Use one of them per scheduler. One thread.
class TxScheduler {
 public:
  /// `profile` must outlive the scheduler. `seed` replaces the profile's.
  explicit TxScheduler(const config::FlowProfile& profile, std::optional<std::uint64_t> seed = {});

  // One frame at a time:
  /// Returns the next frame; nothing after the last one.
  [[nodiscard]] std::optional<DueFrame> next() const noexcept;
  void advance() noexcept;

  // Several frames of a flow. All but done() require !done().
  [[nodiscard]] bool done() const noexcept { return queue_.empty(); }
  /// The flow whose frame is due next, and when.
  [[nodiscard]] const DueFlow& poll() const noexcept { return queue_.first(); }
  /// Frames of that flow which are due before this time come before any other flow's.
  [[nodiscard]] Duration exclusive_until() const noexcept { return queue_.second_from(); }
  [[nodiscard]] HotFlow& hot(std::size_t flow) noexcept { return hot_[flow]; }
  [[nodiscard]] std::span<HotFlow> hot_flows() noexcept { return hot_; }
  [[nodiscard]] FlowCursor& cursor(std::size_t flow) noexcept { return cursors_[flow]; }
  [[nodiscard]] const FlowCursor& cursor(std::size_t flow) const noexcept { return cursors_[flow]; }
  /// Calls HotFlow::next_batch() and returns its result.
  bool next_batch(std::size_t flow) noexcept {
    batches_end_ = true;
    return hot_[flow].next_batch(cursors_[flow]);
  }
  /// Call it after frames of poll()'s flow were taken: moves the flow to its next due time. Removes
  /// the flow unless `more`.
  void reschedule(bool more) noexcept {
    const bool opened =
        more ? queue_.reschedule_first(hot(queue_.first().flow).due()) : queue_.remove_first();
    if (opened) prefetch_slot();
  }

  // One frame of each of several flows:
  /// The next due flows in order, poll()'s first, as far as they are before batch_until(); often
  /// none.
  [[nodiscard]] std::span<const DueFlow> batch() const noexcept { return queue_.batch(); }
  [[nodiscard]] Duration batch_until() const noexcept { return queue_.batch_until(); }
  /// Like reschedule(bool), for the batch's first flows. `next`: next due time of each flow;
  /// FlowQueue::kNever removes it.
  void reschedule(std::span<const Duration> next) noexcept {
    queue_.reschedule(next);
    prefetch_batch(next.size());
  }

 private:
  void prefetch_slot() const noexcept;
  void prefetch_batch(std::size_t flows) noexcept;
  void prefetch_cursor(std::uint32_t flow) const noexcept;
  std::vector<FlowCursor> make_cursors(const config::FlowProfile& profile);
  std::vector<HotFlow> make_hot_flows() noexcept;
  [[nodiscard]] std::vector<DueFlow> first_due() const;

  LayoutCache layouts_;
  PayloadPool payloads_;
  std::vector<FlowCursor> cursors_;
  std::vector<HotFlow> hot_;
  FlowQueue queue_;
  bool batches_end_ = false;  // a batch of frames ended since the last prefetch_batch()
};

/// The flows of one core: flow i of the profile belongs to core i modulo `cores`.
struct CoreShare {
  std::uint16_t core = 0, cores = 1;  // core: also its send queue on every port

  /// Returns the index in the profile of the core's flow `own`.
  [[nodiscard]] std::size_t flow(std::size_t own) const noexcept { return own * cores + core; }
};

/// Returns the profile with one core's flows only. A flow's frames depend on the seed and its own
/// name, so they are the same on any core.
config::FlowProfile flows_of(const config::FlowProfile& profile, CoreShare share);

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gen/traffic/flow_queue.h"
#include "gen/traffic/hot_flow.h"

namespace lw::gen {

/// A frame that is due: valid until the scheduler's advance().
struct DueFrame {
  std::size_t flow = 0;  // index into the profile's flows
  Duration at{};         // from the run's start
  const FrameTemplate* frame = nullptr;
  VariableFields fields;  // without the send time
  bool ends_message = false;
  std::optional<config::FaultKind> fault;

  /// Bytes of the frame, FCS not counted.
  [[nodiscard]] std::size_t size() const noexcept { return frame->size(fields); }
};

/// All flows of a profile, merged by due time; where two are due at once, the earlier in the
/// profile goes first. So the order hangs on the profile and nothing else. It is gone through frame
/// by frame with next(), or run by run with source(), to the same frames; not with both. One
/// thread.
class TxScheduler {
 public:
  /// `profile` must outlive it. `seed` takes the place of the profile's where there is one.
  explicit TxScheduler(const config::FlowProfile& profile, std::optional<std::uint64_t> seed = {});

  /// The next frame, or nothing when every flow is through.
  [[nodiscard]] std::optional<DueFrame> next() const noexcept;
  void advance() noexcept;

  // For who takes several frames of a flow in a row. Only while !done().
  [[nodiscard]] bool done() const noexcept { return turns_.empty(); }
  /// Whose turn it is, and when that frame is due.
  [[nodiscard]] const DueFlow& turn() const noexcept { return turns_.first(); }
  /// Frames of that flow may be taken as long as they are due before this: no other one's is.
  [[nodiscard]] Duration alone_until() const noexcept { return turns_.others_from(); }
  [[nodiscard]] HotFlow& source(std::size_t flow) noexcept { return sources_[flow]; }
  /// Of all flows.
  [[nodiscard]] std::span<HotFlow> sources() noexcept { return sources_; }
  /// What the source's make() and refill() want.
  [[nodiscard]] FlowWalk& walk(std::size_t flow) noexcept { return walks_[flow]; }
  /// A source's run has ended: its refill().
  bool refill(std::size_t flow) noexcept {
    runs_end_ = true;
    return sources_[flow].refill(walks_[flow]);
  }
  /// Frames were taken of the flow whose turn it was, and its source refilled where its run ended;
  /// `more`: what it said.
  void resume(bool more) noexcept {
    const bool opened =
        more ? turns_.put_back(source(turns_.first().flow).due()) : turns_.remove_first();
    if (opened) fetch_slot();
  }

  /// Turns of several flows that follow each other, the first one being turn(), if they are before
  /// row_until(); often none.
  [[nodiscard]] std::span<const DueFlow> row() const noexcept { return turns_.row(); }
  [[nodiscard]] Duration row_until() const noexcept { return turns_.row_until(); }
  /// resume() for the row's first turns, a frame each, with their flows' next turns or
  /// FlowQueue::kNever.
  void resume(std::span<const Duration> next) noexcept {
    turns_.take_round(next);
    fetch_round(next.size());
  }

  // Frame by frame.
  [[nodiscard]] const FlowCursor& cursor(std::size_t flow) const { return walks_[flow].stream; }
  [[nodiscard]] const Pacer& pacer(std::size_t flow) const { return walks_[flow].pacer; }

 private:
  void fetch_slot() const noexcept;
  void fetch_round(std::size_t turns) noexcept;
  void fetch_walk(std::uint32_t flow) const noexcept;
  std::vector<FlowWalk> walks_of(const config::FlowProfile& profile);
  std::vector<HotFlow> first_sources() noexcept;
  [[nodiscard]] std::vector<DueFlow> first_turns() const;

  LayoutCache shapes_;
  PayloadPool payloads_;
  std::vector<FlowWalk> walks_;
  std::vector<HotFlow> sources_;
  FlowQueue turns_;
  bool runs_end_ = false;  // lately: some in the last round
};

}  // namespace lw::gen

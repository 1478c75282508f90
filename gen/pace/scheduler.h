// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "gen/frames/flow_stream.h"
#include "gen/pace/pacer.h"
#include "gen/pace/turn_wheel.h"

namespace lw::gen {

/// A frame that is due: valid until the scheduler's advance().
struct DueFrame {
  std::size_t flow = 0;  // index into the profile's flows
  Duration at{};         // from the run's start
  const FrameTemplate* frame = nullptr;
  Moving moving;  // without its send time
  bool ends_message = false;
  std::optional<profile::FaultKind> fault;

  /// Bytes of the frame, FCS not counted.
  [[nodiscard]] std::size_t size() const noexcept { return frame->size(moving); }
};

/// One flow: what it sends and when.
struct alignas(64) FlowSource {
  Pacer pacer;
  FlowStream stream;

  /// Behind a frame that was taken; false when the flow is through.
  bool advance() noexcept { return advance(stream.frame().size(stream.moving())); }
  /// The same where the frame's size is known.
  bool advance(std::size_t size) noexcept {
    pacer.advance(stream.work_of(size));
    stream.advance();
    return stream.has_next() && !pacer.ended();
  }
};

/// All flows of a profile, merged by due time; where two are due at once, the earlier in the
/// profile goes first. So the order hangs on the profile and nothing else. One thread.
class Scheduler {
 public:
  /// `profile` must outlive it. `seed` takes the place of the profile's where there is one.
  explicit Scheduler(const profile::FlowProfile& profile, std::optional<std::uint64_t> seed = {});

  /// The next frame, or nothing when every flow is through.
  [[nodiscard]] std::optional<DueFrame> next() const noexcept;
  void advance() noexcept { resume(source(turns_.first().flow).advance()); }

  // The same for who takes several frames of a flow in a row, from its source. Only while !done().
  [[nodiscard]] bool done() const noexcept { return turns_.empty(); }
  /// Whose turn it is, and when that frame is due.
  [[nodiscard]] const Turn& turn() const noexcept { return turns_.first(); }
  /// Frames of that flow may be taken as long as they are due before this: no other one's is.
  [[nodiscard]] Duration alone_until() const noexcept { return turns_.others_from(); }
  [[nodiscard]] FlowSource& source(std::size_t flow) noexcept { return flows_[flow]; }
  /// Frames were taken from the source whose turn it was; `more`: what its advance() said last.
  void resume(bool more) noexcept {
    const bool opened =
        more ? turns_.put_back(source(turns_.first().flow).pacer.due()) : turns_.remove_first();
    if (opened) fetch_ahead();
  }

  [[nodiscard]] const FlowStream& stream(std::size_t flow) const { return flows_[flow].stream; }
  [[nodiscard]] const Pacer& pacer(std::size_t flow) const { return flows_[flow].pacer; }

 private:
  void fetch_ahead() const noexcept;
  std::vector<FlowSource> sources_of(const profile::FlowProfile& profile);
  [[nodiscard]] std::vector<Turn> first_turns() const;

  FrameShapes shapes_;
  PayloadPool payloads_;
  std::vector<FlowSource> flows_;
  TurnWheel turns_;
};

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "gen/flow_stream.h"
#include "gen/pacer.h"

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

/// All flows of a profile, merged by due time; where two are due at once, the earlier in the
/// profile goes first. So the order hangs on the profile and nothing else. One thread.
class Scheduler {
 public:
  /// `profile` must outlive it. `seed` takes the place of the profile's where there is one.
  explicit Scheduler(const profile::FlowProfile& profile, std::optional<std::uint64_t> seed = {});

  /// The next frame, or nothing when every flow is through.
  [[nodiscard]] std::optional<DueFrame> next() const noexcept;
  void advance() noexcept;

  [[nodiscard]] const FlowStream& stream(std::size_t flow) const { return *flows_[flow].stream; }
  [[nodiscard]] const Pacer& pacer(std::size_t flow) const { return flows_[flow].pacer; }

 private:
  struct Source {
    std::unique_ptr<FlowStream> stream;
    Pacer pacer;
  };
  struct Turn {
    Duration at;
    std::size_t flow;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };

  FrameShapes shapes_;
  PayloadPool payloads_;
  std::vector<Source> flows_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
};

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "config/flow/profile.h"
#include "gen/traffic/frame_template.h"

namespace lw::gen {

/// The payloads of a run. A pattern starts again in each packet, so one copy of the largest MTU
/// serves all flows that use it; a shorter packet carries its first bytes. Spans stay valid for the
/// pool's lifetime. Not thread-safe while it grows.
class PayloadPool {
 public:
  /// `seed` selects the start of the prbs31 sequence.
  explicit PayloadPool(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  static constexpr std::size_t kLongest = 4096;  // bytes
  /// Returns the first `length` bytes, at most kLongest, of a pattern.
  wire::Bytes get(const config::Payload& payload, std::size_t length);

 private:
  std::uint64_t seed_;
  std::map<config::Payload, std::vector<std::byte>> patterns_;
};

/// Position of a packet in its message.
enum class PacketPosition : std::uint8_t { first, middle, last, only };

/// Size in bytes of a flow's longest frame, without FCS.
std::size_t longest_frame(const config::Flow& flow);

/// The templates of one QP: one for each packet position that its messages have, and one for each
/// of its faults that change a frame's bytes. Payloads are shared by all QPs.
class TemplateSet {
 public:
  TemplateSet(const config::Flow& flow, LayoutCache& layouts, PayloadPool& payloads);

  [[nodiscard]] const FrameTemplate& valid(PacketPosition position) const noexcept {
    return *valid_[static_cast<std::size_t>(position)];
  }
  /// `kind` must be is_in_bytes() or short_middle.
  [[nodiscard]] const FrameTemplate& faulty(config::FaultKind kind,
                                            PacketPosition position) const noexcept;

 private:
  static constexpr std::size_t kPositions = 4;
  using Templates = std::array<std::unique_ptr<FrameTemplate>, kPositions>;

  Templates valid_;
  std::array<std::unique_ptr<Templates>, config::kFaultKinds> faulty_;
};

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>

#include "config/flow/flow_profile.h"
#include "gen/traffic/frame_template.h"
#include "gen/traffic/payload_pool.h"

namespace lw::gen {

/// A packet's place in its message.
enum class Place : std::uint8_t { first, middle, last, only };

/// The templates of one QP: one for each place that its messages have, and for each of its faults
/// that change a frame's bytes. Each is half a KiB; payloads are shared by all QPs.
class TemplateSet {
 public:
  TemplateSet(const config::Flow& flow, LayoutCache& shapes, PayloadPool& payloads);

  [[nodiscard]] const FrameTemplate& sound(Place place) const noexcept {
    return *sound_[static_cast<std::size_t>(place)];
  }
  /// With a fault that is_in_bytes(), or a short_middle.
  [[nodiscard]] const FrameTemplate& faulty(config::FaultKind kind, Place place) const noexcept;

 private:
  static constexpr std::size_t kPlaces = 4;
  using Templates = std::array<std::unique_ptr<FrameTemplate>, kPlaces>;

  Templates sound_;
  std::array<std::unique_ptr<Templates>, config::kFaultKinds> faulty_;
};

}  // namespace lw::gen

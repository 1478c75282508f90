// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/figure.h"
#include "core/time.h"

namespace lw::gen {

/// The pacing of a port's frames.
struct PortPacing {
  std::string port;
  bool by_device = false;  // the device sends at time stamps; otherwise this program waits

  static const FigureTable& figures();
};
using PortPacings = std::vector<PortPacing>;

/// A [[flow]], all its QPs together.
struct FlowPreview {
  const config::Flow* flow = nullptr;  // the first QP
  std::size_t first = 0;               // its index in the profile
  std::optional<std::uint64_t> frames = {};
  std::optional<Duration> time = {};
  bool exact = true;  // if false, frames and time are averages
  double bits_per_second = 0, frames_per_second = 0;

  static const FigureTable& figures();
};

/// A frame, described.
struct FramePreview {
  Duration at;  // after the start
  std::string flow, frame;

  static const FigureTable& figures();
};

/// What a profile would send: its flows, and the first frames of the run.
struct Preview {
  const config::FlowProfile& profile;
  std::vector<FlowPreview> flows;
  PortPacings ports;
  std::vector<FramePreview> first_frames;

  static const FigureTable& figures();
};
inline constexpr JsonOutput kFlowCheckOutput{
    .name = "flow_check", .title = "roce-gen check --json", .figures = &Preview::figures};

/// `frames`: how many of the first frames to describe. The profile must outlive the preview.
Preview preview_of(const config::FlowProfile& profile, std::uint64_t frames,
                   PortPacings ports = {});
/// Describes operation, frames, bytes, rate and time of each flow, and the first frames.
std::string to_text(const Preview& preview);

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "config/flow/profile.h"

namespace lw::gen {

/// The pacing of a port's frames.
struct PortPacing {
  std::string port;
  bool by_device = false;  // the device sends at time stamps; otherwise this program waits
};
using PortPacings = std::vector<PortPacing>;

/// Describes the frames of a profile: operation, frames, bytes, rate and time of each flow, and the
/// first `frames` frames of the run.
std::string preview_text(const config::FlowProfile& profile, std::uint64_t frames,
                         const PortPacings& ports = {});
/// Like preview_text(), as one line of JSON.
std::string preview_json(const config::FlowProfile& profile, std::uint64_t frames,
                         const PortPacings& ports = {});

}  // namespace lw::gen

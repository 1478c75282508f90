// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "config/flow/profile.h"

namespace lw::gen {

/// Who keeps the time at which a port's frames leave.
struct PortPacing {
  std::string port;
  bool by_device = false;  // it sends on timestamps; else this program does
};
using PortPacings = std::vector<PortPacing>;

/// What a profile would send: per flow what it is, frames, bytes, rate and time; then the first
/// `frames` frames of the run in words.
std::string preview_text(const config::FlowProfile& profile, std::uint64_t frames,
                         const PortPacings& ports = {});
/// The same as one line of JSON.
std::string preview_json(const config::FlowProfile& profile, std::uint64_t frames,
                         const PortPacings& ports = {});

}  // namespace lw::gen

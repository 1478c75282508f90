// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "profile/flow_profile.h"

namespace lw::gen {

/// What a profile would send: per flow what it is, frames, bytes, rate and time; then the first
/// `frames` frames of the run in words.
std::string preview_text(const profile::FlowProfile& profile, std::uint64_t frames);
/// The same as one line of JSON.
std::string preview_json(const profile::FlowProfile& profile, std::uint64_t frames);

}  // namespace lw::gen

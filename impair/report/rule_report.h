// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "profile/impair_profile.h"

namespace lw::impair {

/// A profile's rules with each of their stages, events, and acts with each of their steps, in
/// words.
std::string rules_text(const profile::ImpairProfile& profile);
std::string events_text(const profile::ImpairProfile& profile);
std::string scenario_text(const profile::ImpairProfile& profile);
/// The same as JSON arrays of objects.
nlohmann::ordered_json rules_json(const profile::ImpairProfile& profile);
nlohmann::ordered_json events_json(const profile::ImpairProfile& profile);
nlohmann::ordered_json scenario_json(const profile::ImpairProfile& profile);

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lw::config {

/// Kinds of profiles: folders of profiles/.
inline constexpr std::string_view kFlowProfiles = "flows", kImpairProfiles = "impair",
                                  kPathProfiles = "paths", kExperimentProfiles = "experiments",
                                  kTelemetryProfiles = "telemetry";

using ProfileKinds = std::span<const std::string_view>;

/// The path of a profile: `name` is a path, "-", or the bare name of a profile of one of these
/// kinds ("apn-380km"), in the order of preference. Profiles are looked for in the working
/// directory, its profiles/, the folders of $LONGWIRE_PROFILES (separated by colons),
/// ~/.config/longwire, profiles/ of the source tree that the program was built in, and
/// share/longwire/profiles/ beside the folder of the installed program; in the folders themselves,
/// and in their sub-folders that have the name of a kind. Error (usage): there is none; the message
/// says where it was looked for and suggests the nearest name.
Result<std::string> find_profile(const std::string& name, ProfileKinds kinds);
inline Result<std::string> find_profile(const std::string& name,
                                        std::initializer_list<std::string_view> kinds) {
  return find_profile(name, ProfileKinds(kinds.begin(), kinds.size()));
}

/// A profile that find_profile() finds by its bare name.
struct NamedProfile {
  std::string name, kind, path;
  std::string description;  // its `title`, or the first sentence of the comment at its head
};

/// All profiles of these kinds, by kind and name. A file that isn't TOML, or whose keys are those
/// of no kind, is listed only if it is in the folder of a kind.
std::vector<NamedProfile> list_profiles(ProfileKinds kinds);

}  // namespace lw::config

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
                                  kTelemetryProfiles = "telemetry", kNetworkProfiles = "networks",
                                  kClassProfiles = "classes", kCongestionProfiles = "congestion",
                                  kNicProfiles = "nics";

using ProfileKinds = std::span<const std::string_view>;

/// Returns the path of a profile. `name` is a path, "-", or the bare name of a profile of one of
/// these kinds ("apn-380km"), in order of preference. Bare names are searched in: the working
/// directory, its profiles/, the folders of $LONGWIRE_PROFILES (separated by colons),
/// ~/.config/longwire, profiles/ of the source tree in which the program was built, and
/// share/longwire/profiles/ beside the folder of the installed program; in each folder, and in its
/// sub-folders named after a kind. The folder may be given: "paths/apn-380km" is the profile of
/// that kind only. A path that begins with profiles/ is also looked for in those of these folders
/// that are named profiles, so that it means the same in every folder. Error (usage): there is no
/// such profile; the message lists the searched folders and suggests the most similar name.
Result<std::string> find_profile(const std::string& name, ProfileKinds kinds);
inline Result<std::string> find_profile(const std::string& name,
                                        std::initializer_list<std::string_view> kinds) {
  return find_profile(name, ProfileKinds(kinds.begin(), kinds.size()));
}

/// True if find_profile() looks for `name`, rather than take it for the path of a file.
bool is_profile_name(const std::string& name);

/// A profile that find_profile() finds by its bare name.
struct NamedProfile {
  std::string name, kind, path;
  std::string description;  // its `title`, or the first sentence of the comment at its start
};

/// Returns all profiles of these kinds, sorted by kind and name. A file that isn't TOML, or whose
/// keys belong to no kind, is listed only if its folder is that of a kind.
std::vector<NamedProfile> list_profiles(ProfileKinds kinds);

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#include "app/profile_note.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/core.h>

#include "config/toml/profile_search.h"

namespace lw::app {
namespace {

/// The word for a profile in a folder of a kind.
std::string_view word_of(std::string_view folder) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {config::kFlowProfiles, "flow profile"},
      {config::kImpairProfiles, "impair profile"},
      {config::kPathProfiles, "path"},
      {config::kExperimentProfiles, "experiment"},
      {config::kTelemetryProfiles, "record layout"},
      {config::kClassProfiles, "class of traffic"},
      {config::kCongestionProfiles, "congestion control"},
      {config::kNetworkProfiles, "network"},
      {config::kNicProfiles, "NIC"}};
  const auto found = std::ranges::find(kWords, folder, [](const auto& word) { return word.first; });
  return found == std::end(kWords) ? "profile" : found->second;
}

}  // namespace

void say_profile(const std::string& typed, std::initializer_list<std::string_view> kinds,
                 const std::string& meaning) {
  if (typed.empty() || !config::is_profile_name(typed)) return;
  const auto found = config::find_profile(typed, kinds);
  if (!found) return;
  const std::filesystem::path file(*found);
  fmt::print(stderr, "{} {}: {}\n", word_of(file.parent_path().filename().string()),
             file.stem().string(), meaning);
}

}  // namespace lw::app

// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/profile_search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ranges>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/toml/document.h"
#include "core/names.h"

namespace lw::config {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns $XDG_CONFIG_HOME, by default ~/.config; empty if there is no home.
fs::path config_home() {
  if (const std::string home = environment("XDG_CONFIG_HOME"); !home.empty()) return home;
  const std::string home = environment("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".config";
}

/// Returns the folders in search order. Omits folders beside the program that don't exist: a
/// program has only one of them.
std::vector<fs::path> search_path() {
  std::error_code unknown;
  std::vector<fs::path> folders = {".", "profiles"};
  for (const auto part : std::views::split(environment("LONGWIRE_PROFILES"), ':'))
    if (!part.empty()) folders.emplace_back(std::string_view(part));
  if (const fs::path home = config_home(); !home.empty()) folders.push_back(home / "longwire");
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const char* beside : {"../../profiles", "../share/longwire/profiles"})
    if (fs::is_directory(program / beside, unknown))
      folders.push_back(fs::weakly_canonical(program / beside, unknown));
  return folders;
}

/// Returns the kind to which a profile's keys belong; empty if none.
std::string_view kind_of(Document& document) {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"flow", kFlowProfiles},       {"scenario", kExperimentProfiles},
      {"rule", kImpairProfiles},     {"event", kImpairProfiles},
      {"span", kPathProfiles},       {"equipment", kPathProfiles},
      {"field", kTelemetryProfiles}, {"switch", kNetworkProfiles},
      {"fabric", kNetworkProfiles},  {"class", kClassProfiles},
      {"nic", kNicProfiles},         {"cc", kCongestionProfiles}};
  const std::vector<std::string_view> keys = document.root().keys();
  for (const auto& [key, kind] : kKeys)
    if (std::ranges::find(keys, key) != keys.end()) return kind;
  return {};
}

/// Returns the comment at the start of a profile, without the licence, as one line.
std::string head_comment(const std::string& text) {
  std::istringstream lines(text);
  std::string comment;
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    const std::size_t begin = std::min(line.find_first_not_of("# "), line.size());
    if (line.find("SPDX-License-Identifier:") != std::string::npos) continue;
    if (begin == line.size() && !comment.empty()) break;
    comment += (comment.empty() ? "" : " ") + line.substr(begin);
  }
  return comment;
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = std::min(text.find(". "), text.size());
  const std::string sentence = text.substr(0, end);
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

/// Describes a file by its contents. `folder_kind` is used if they don't determine the kind.
/// Nullopt if it is not a profile.
std::optional<NamedProfile> describe_profile(const fs::path& file, std::string_view folder_kind) {
  NamedProfile profile{.name = file.stem().string(),
                       .kind = std::string(folder_kind),
                       .path = file.lexically_normal().string(),
                       .description = {}};
  const auto text = read_profile_text(file.string());
  if (!text) return std::nullopt;
  profile.description = first_sentence(head_comment(*text));
  if (auto document = Document::parse(*text, profile.path)) {
    if (profile.kind.empty()) profile.kind = kind_of(*document);
    if (auto title = document->root().get("title", read_text)) profile.description = *title;
  }
  return profile.kind.empty() ? std::nullopt : std::optional(std::move(profile));
}

bool wants(ProfileKinds kinds, std::string_view kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

/// A folder in the search, whose profiles are of one kind or of any kind.
struct Place {
  fs::path folder;
  std::string_view kind;  // empty: any
};

std::vector<Place> places(ProfileKinds kinds) {
  std::vector<Place> all;
  for (const fs::path& folder : search_path()) {
    all.push_back({folder, {}});
    for (const std::string_view kind : kinds) all.push_back({folder / kind, kind});
  }
  return all;
}

/// Returns the paths of the profiles in a folder, sorted.
std::vector<fs::path> profiles_in(const fs::path& folder) {
  std::error_code unknown;
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(folder, unknown))
    if (file.path().extension() == ".toml" && file.is_regular_file(unknown))
      files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

std::unexpected<Error> no_profile(const std::string& name, const std::vector<std::string>& names,
                                  const std::string& searched) {
  const auto stem = fs::path(name).stem().string();
  const std::string_view near =
      nearest(stem, std::vector<std::string_view>(names.begin(), names.end()));
  return fail(fmt::format("{}: no such profile{}{}", bounded_message(name),
                          near.empty() ? "" : fmt::format("; did you mean `{}`?", near), searched));
}

std::string searched_text() {
  std::vector<std::string> folders;
  for (const fs::path& folder : search_path())
    folders.push_back(folder == "." ? "the working directory" : folder.string());
  return fmt::format("\nlooked for in {}", fmt::join(folders, ", "));
}

/// Returns the file that "profiles/impair/x.toml" names in a searched folder "profiles", such as
/// the installed one; empty if there is none.
std::string shipped(const fs::path& name) {
  std::error_code unknown;
  if (name.empty() || *name.begin() != "profiles") return {};
  const fs::path rest = name.lexically_relative("profiles");
  for (const fs::path& folder : search_path())
    if (folder.filename() == "profiles" && fs::is_regular_file(folder / rest, unknown))
      return (folder / rest).lexically_normal().string();
  return {};
}

/// The kind that a name begins with, as in "paths/apn-380km"; empty: none.
std::string_view folder_of(const std::string& name) {
  constexpr std::string_view kKinds[] = {kFlowProfiles,       kImpairProfiles,    kPathProfiles,
                                         kExperimentProfiles, kTelemetryProfiles, kNetworkProfiles,
                                         kNicProfiles};
  const std::string parent = fs::path(name).parent_path().string();
  const auto found = std::ranges::find(kKinds, parent);
  return found == std::end(kKinds) ? std::string_view() : *found;
}

bool exists_as_file(const std::string& name) {
  std::error_code unknown;
  const bool is_path = fs::path(name).has_parent_path();
  return name == "-" ||
         (fs::exists(name, unknown) && (is_path || !fs::is_directory(name, unknown)));
}

bool is_of_kind(const fs::path& file, ProfileKinds kinds) {
  const auto profile = describe_profile(file, {});
  return !profile || wants(kinds, profile->kind);
}

}  // namespace

bool is_profile_name(const std::string& name) { return !exists_as_file(name); }

namespace {

/// The file of a bare name in the folders of the search, of one of these kinds; empty: none.
std::string found_by_name(const std::string& name, ProfileKinds kinds) {
  std::error_code unknown;
  for (const Place& place : places(kinds)) {
    for (const std::string& file : {name, name + ".toml"}) {
      const fs::path path = place.folder / file;
      // In a folder of several kinds, a profile of another kind may have this name.
      if (fs::is_regular_file(path, unknown) && (!place.kind.empty() || is_of_kind(path, kinds)))
        return path.lexically_normal().string();
    }
  }
  return {};
}

/// The profile of a name with its folder, such as "paths/apn-380km".
Result<std::string> find_in_folder(const std::string& name, std::string_view folder,
                                   ProfileKinds kinds) {
  if (!wants(kinds, folder))
    return fail(fmt::format("{}: expected a profile of {}, found one of {}", bounded_message(name),
                            fmt::join(kinds, " or "), folder));
  std::error_code unknown;
  const std::string stem = fs::path(name).filename().string();
  for (const fs::path& searched : search_path())
    for (const std::string& file : {stem, stem + ".toml"})
      if (const fs::path path = searched / folder / file; fs::is_regular_file(path, unknown))
        return path.lexically_normal().string();
  std::vector<std::string> names;
  for (const NamedProfile& profile : list_profiles(std::span(&folder, 1)))
    names.push_back(profile.name);
  return no_profile(name, names, searched_text());
}

}  // namespace

Result<std::string> find_profile(const std::string& name, ProfileKinds kinds) {
  if (exists_as_file(name)) return name;
  if (const std::string_view folder = folder_of(name); !folder.empty())
    return find_in_folder(name, folder, kinds);
  std::vector<std::string> names;
  if (fs::path(name).has_parent_path()) {
    if (std::string found = shipped(name); !found.empty()) return found;
    for (const fs::path& file : profiles_in(fs::path(name).parent_path()))
      names.push_back(file.stem().string());
    return no_profile(name, names, "");
  }
  if (std::string found = found_by_name(name, kinds); !found.empty()) return found;
  for (const NamedProfile& profile : list_profiles(kinds)) names.push_back(profile.name);
  return no_profile(name, names, searched_text());
}

std::vector<NamedProfile> list_profiles(ProfileKinds kinds) {
  std::vector<NamedProfile> list;
  const auto rank = [kinds](const NamedProfile& profile) {
    return std::pair(std::ranges::find(kinds, profile.kind) - kinds.begin(),
                     std::string_view(profile.name));
  };
  for (const Place& place : places(kinds)) {
    for (const fs::path& file : profiles_in(place.folder)) {
      auto profile = describe_profile(file, place.kind);
      if (!profile || !wants(kinds, profile->kind)) continue;
      // An earlier profile of the same name hides a later one.
      if (std::ranges::none_of(list, [&](const NamedProfile& other) {
            return other.name == profile->name && other.kind == profile->kind;
          }))
        list.push_back(std::move(*profile));
    }
  }
  std::ranges::sort(list, {}, rank);
  return list;
}

}  // namespace lw::config

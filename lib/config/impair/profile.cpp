// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/profile.h"

#include "config/impair/profile_source.h"
#include "config/impair/static_profile.h"
#include "config/toml/profile_search.h"

namespace lw::config {

Result<ProfileText> find_impair_profile(const std::string& file) {
  const auto found = find_profile(file, {kImpairProfiles, kPathProfiles});
  if (!found) return std::unexpected(found.error());
  auto text = read_profile_text(*found);
  if (!text) return std::unexpected(text.error());
  return ProfileText{.name = file == "-" ? "<stdin>" : *found, .text = std::move(*text)};
}

Result<ImpairProfile> read_impair_profile(const ProfileText& text,
                                          std::span<const std::string> changes) {
  const auto edits = rule_edits(text.text, text.name, changes);
  if (!edits) return std::unexpected(edits.error());
  return parse_impair_profile(text.text, text.name, *edits);
}

Result<ImpairProfile> load_impair_profile(const std::string& file) {
  const auto text = find_impair_profile(file);
  if (!text) return std::unexpected(text.error());
  return read_impair_profile(*text);
}

Result<std::vector<Edit>> rule_edits(std::string_view text, std::string name,
                                     std::span<const std::string> changes) {
  if (changes.empty()) return std::vector<Edit>{};
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  expand_path_alone(*document);
  return document->edits_of("rule", changes);
}

Result<ImpairProfile> parse_impair_profile(std::string_view text, std::string name,
                                           std::span<const Edit> edits) {
  auto reading = ProfileSource::read(text, {std::move(name)}, edits);
  if (!reading) return std::unexpected(reading.error());
  return std::move(reading->profile);
}

}  // namespace lw::config

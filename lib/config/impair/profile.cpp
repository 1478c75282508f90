// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/profile.h"

#include "config/impair/profile_source.h"
#include "config/impair/static_profile.h"
#include "config/toml/profile_search.h"

namespace lw::config {

Result<ImpairProfile> load_impair_profile(const std::string& file,
                                          std::span<const std::string> changes) {
  const auto found = find_profile(file, {kImpairProfiles, kPathProfiles});
  if (!found) return std::unexpected(found.error());
  const auto text = read_profile_text(*found);
  if (!text) return std::unexpected(text.error());
  const std::string name = file == "-" ? "<stdin>" : *found;
  const auto edits = rule_edits(*text, name, changes);
  if (!edits) return std::unexpected(edits.error());
  return parse_impair_profile(*text, name, *edits);
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

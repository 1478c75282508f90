// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/profile.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "config/impair/profile_source.h"
#include "config/impair/static_profile.h"
#include "config/toml/profile_search.h"
#include "core/quantity.h"

namespace lw::config {

Duration nominal_delay(const ImpairProfile& profile, emulator::Direction direction) {
  Duration longest{};
  for (const emulator::RuleConfig& rule : profile.rules)
    if (rule.applies(direction)) longest = std::max(longest, rule.delay.value_or(Duration{}));
  return longest;
}

namespace {

/// Paths are usually compared in microseconds.
std::string delay_words(Duration delay) {
  constexpr Duration kMost = std::chrono::milliseconds(10);
  if (delay >= kMost) return format_set_duration(delay);
  return fmt::format("{:.5g} us", static_cast<double>(delay.count()) / 1e3);
}

std::string loss_words(const ImpairProfile& profile) {
  for (const emulator::RuleConfig& rule : profile.rules) {
    const double* loss = std::get_if<double>(&rule.loss);
    if (loss == nullptr) return "losses by a model";
    if (*loss > 0) return "loss " + format_share(*loss);
  }
  return "no loss";
}

}  // namespace

std::string words_of(const ImpairProfile& profile) {
  const Duration there = nominal_delay(profile, emulator::Direction::west_to_east),
                 back = nominal_delay(profile, emulator::Direction::east_to_west);
  std::string words = there == back
                          ? delay_words(there)
                          : fmt::format("{} there, {} back", delay_words(there), delay_words(back));
  words += ", " + loss_words(profile);
  for (const emulator::RuleConfig& rule : profile.rules)
    if (rule.queue) return words + ", a queue of " + format_bit_rate(rule.queue->rate_bps);
  return words;
}

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

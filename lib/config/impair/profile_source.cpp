// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/profile_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/impair/static_profile.h"
#include "config/impair/timeline.h"

namespace lw::config {
namespace {

Result<void> apply_all(Document& document, std::span<const Edit> edits) {
  if (!edits.empty()) expand_path_alone(document);
  for (const Edit& edit : edits)
    if (auto applied = document.apply(edit); !applied) return applied;
  return {};
}

/// Returns the keys of an edited document, for ImpairProfile::keys.
auto keys_of(Document& document) {
  expand_path_alone(document);
  return std::make_shared<const std::vector<KeyValue>>(
      key_values(document.value(), {"at", "protection", "flap"}));
}

void set_entry(Entries& entries, const std::string& key, Value value) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  const FilePosition at = value.at;
  entries.push_back({key, at, std::move(value)});
}

/// A step that adds this [[event]], counting packets from now.
ScenarioStep event_step(const std::string& name, Value table) {
  auto& entries = std::get<Entries>(table.data);
  std::erase_if(entries, [](const Entry& entry) { return entry.key == "on_command"; });
  set_entry(entries, "name", {table.at, name});
  set_entry(entries, "counted", {table.at, std::string("from-now")});
  const FilePosition place = table.at;
  return {.at = {},
          .act = name,
          .place = place,
          .edits = {{.table = "event",
                     .name = name,
                     .key = {},
                     .value = {},
                     .parsed = std::move(table),
                     .of_scenario = true}}};
}

/// Checks the command's steps in order.
Result<std::vector<ScenarioStep>> tried(Timeline& timeline, std::vector<ScenarioStep> steps) {
  if (const auto verdict = timeline.verdict(); !verdict) return std::unexpected(verdict.error());
  for (const ScenarioStep& step : steps)
    if (!timeline.apply(step)) break;
  if (const auto verdict = timeline.verdict(); !verdict) return std::unexpected(verdict.error());
  return steps;
}

/// Adds the act of a command to the document. Error: it has the name of an act of the profile.
Result<void> add_act(Document& document, const ControlCommand& command,
                     const std::vector<Act>& acts) {
  if (std::ranges::find(acts, command.name, &Act::name) != acts.end())
    return fail(fmt::format("{}: name: expected a unique name, found \"{}\" again", document.name(),
                            command.name));
  Value table = *command.table;
  set_entry(std::get<Entries>(table.data), "name", {table.at, command.name});
  return document.apply(
      {.table = command.kind, .name = {}, .key = {}, .value = {}, .parsed = std::move(table)});
}

}  // namespace

Result<ProfileSource::Reading> ProfileSource::read(std::string_view text, FileName name,
                                                   std::span<const Edit> edits,
                                                   const std::stop_token& stop) {
  auto document = Document::parse(text, std::move(name.text), name.only);
  if (!document) return std::unexpected(document.error());
  Document rest = document->copy();
  // What is wrong in a later version is in its edits, or in a file that a stage names.
  if (name.only) rest.hide(Diagnostics::Texts::hidden_in_files);
  rest.remove({"at", "protection", "flap"});
  if (auto applied = apply_all(*document, edits); !applied) return std::unexpected(applied.error());
  auto profile = read_static_profile(*document);
  if (!profile) return std::unexpected(profile.error());
  if (auto laid = lay_out(*profile, *document, stop); !laid) return std::unexpected(laid.error());
  if (auto tried = try_commands(*profile, *document, stop); !tried)
    return std::unexpected(tried.error());
  profile->keys = keys_of(*document);
  std::shared_ptr<const ProfileSource> source(new ProfileSource(std::move(rest), profile->acts));
  return Reading{std::move(*profile), std::move(source)};
}

Result<Document> ProfileSource::edited(std::span<const Edit> edits) const {
  Document document = rest_.copy();
  if (auto applied = apply_all(document, edits); !applied) return std::unexpected(applied.error());
  return document;
}

Result<ImpairProfile> ProfileSource::with(std::span<const Edit> edits,
                                          Diagnostics::Texts texts) const {
  auto document = edited(edits);
  if (!document) return std::unexpected(document.error());
  if (texts != Diagnostics::Texts::shown) document->hide(texts);
  auto profile = read_static_profile(*document);
  if (!profile) return profile;
  profile->acts = acts_;
  profile->keys = keys_of(*document);
  return profile;
}

Result<std::vector<ScenarioStep>> ProfileSource::steps_on_command(
    std::span<const Edit> edits, const ControlCommand& command, const std::stop_token& stop) const {
  auto document = edited(edits);
  if (!document) return std::unexpected(document.error());
  expand_path_alone(*document);
  const bool is_event = command.table && command.kind == "event";
  if (command.table && !is_event)
    if (auto added = add_act(*document, command, *acts_); !added)
      return std::unexpected(added.error());
  const auto profile = read_static_profile(*document);
  if (!profile) return std::unexpected(profile.error());
  Timeline timeline(*document, *profile, *document, stop);
  if (is_event) return tried(timeline, {event_step(command.name, *command.table)});
  const std::vector<Act>& acts = command.table ? *profile->acts : *acts_;
  const auto act = std::ranges::find(acts, command.name, &Act::name);
  if (act != acts.end()) return tried(timeline, timeline.steps(*act, {}));
  const Edit of_event{.table = "event", .name = command.name, .key = {}, .value = {}};
  if (const Value* event = document->find(of_event))
    return tried(timeline, {event_step(command.name, *event)});
  return fail(
      fmt::format("{}: expected the name of an [[at]], [[protection]], [[flap]] or [[event]], "
                  "found \"{}\"",
                  document->name(), command.name));
}

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/profile.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/impair/static_profile.h"
#include "config/limits.h"
#include "config/toml/profile_search.h"

namespace lw::config {
namespace {

/// A profile under the changes of a scenario. Each change is checked by reading the whole
/// profile.
class Timeline {
 public:
  /// Records errors in `document`. The arguments must outlive this.
  Timeline(const Document& begin, const ImpairProfile& profile, Document& document)
      : now_(begin.copy()), static_(&profile), document_(&document) {
    // No step changes an act, and every step reads the whole document.
    for (const char* acts : {"at", "protection", "flap"}) now_.remove(acts);
  }

  /// Applies a step. False: the step is invalid, and later steps can't be checked.
  bool take(const ScenarioStep& step) {
    if (step.edits.empty()) return true;
    for (const Edit& edit : step.edits)
      if (const auto applied = now_.apply(edit); !applied)
        return refuse(step, applied.error().message);
    Document next = now_.copy();
    auto profile = read_static_profile(next);
    if (!profile) return refuse(step, profile.error().message);
    if (of_path(step) && !profile->by_path) return refuse(step, std::string(kNoRuleUsesPath));
    longest_ = std::max(longest_, profile->longest_delay());
    last_ = std::move(*profile);
    return true;
  }

  [[nodiscard]] std::vector<ScenarioStep> steps(const Act& act, Duration start) {
    return steps_of(act, start, [this](const Edit& edit) { return present(edit); }, *document_);
  }
  [[nodiscard]] Duration longest() const noexcept { return longest_; }
  [[nodiscard]] Result<void> verdict() const {
    if (!error_.empty()) return fail(error_);
    return document_->verdict();
  }

 private:
  static bool of_path(const ScenarioStep& step) {
    return std::ranges::any_of(step.edits, [](const Edit& edit) { return edit.table.empty(); });
  }
  [[nodiscard]] const ImpairProfile& profile() const { return last_ ? *last_ : *static_; }

  /// Current value of a key; "path" becomes a time if both directions have the same delay.
  std::optional<Value> present(const Edit& edit) const {
    const Value* value = now_.find(edit);
    if (!value) return std::nullopt;
    if (edit.table != "rule" || edit.key != "delay" || text_of(*value) != "path") return *value;
    const auto& rules = profile().rules;
    const auto same = [&](const auto& rule) { return rule.name == edit.name; };
    if (std::ranges::count_if(rules, same) != 1) return *value;
    const auto delay = std::ranges::find_if(rules, same)->delay;
    return delay ? Value{value->at, fmt::format("{}ns", delay->count())} : *value;
  }

  bool refuse(const ScenarioStep& step, const std::string& why) {
    // The error's own position is more precise than the act's.
    if (why.starts_with(document_->name() + ":")) {
      error_ = why;
    } else {
      document_->refuse(step.place, fmt::format("{}: {}", step.act, why));
    }
    return false;
  }

  Document now_;
  const ImpairProfile* static_;
  std::optional<ImpairProfile> last_;
  Document* document_;
  std::string error_;  // of the invalid change
  Duration longest_{};
};

bool comes_before(const ScenarioStep& a, const ScenarioStep& b) { return a.at < b.at; }

/// Expands all timed acts into steps in order of time. A ramp starts at the values that earlier
/// steps set.
Result<void> lay_out(ImpairProfile& profile, Document& document) {
  std::vector<const Act*> timed;
  for (const Act& act : profile.acts)
    if (act.time) timed.push_back(&act);
  std::ranges::stable_sort(timed, {}, [](const Act* act) { return *act->time; });
  Timeline timeline(document, profile, document);
  std::vector<ScenarioStep>& steps = profile.scenario;
  std::size_t taken = 0;
  const auto take_until = [&](Duration time) {
    for (; taken < steps.size() && steps[taken].at <= time; ++taken)
      if (!timeline.take(steps[taken])) return false;
    return true;
  };
  for (const Act* act : timed) {
    if (!take_until(*act->time)) return timeline.verdict();
    const auto more = timeline.steps(*act, *act->time);
    steps.insert(steps.end(), more.begin(), more.end());
    std::stable_sort(steps.begin() + static_cast<std::ptrdiff_t>(taken), steps.end(), comes_before);
    if (steps.size() > kMostSteps) {
      document.refuse(act->place, fmt::format("{}: expected at most {} steps in total, found more",
                                              act->name, kMostSteps));
      break;
    }
  }
  if (document.verdict()) take_until(Duration::max());
  profile.longest_later = std::max(profile.longest_later, timeline.longest());
  return timeline.verdict();
}

/// Checks acts without a time as if their command came at the start.
Result<void> try_commands(ImpairProfile& profile, Document& document) {
  for (const Act& act : profile.acts) {
    if (act.time) continue;
    Timeline timeline(document, profile, document);
    for (const ScenarioStep& step : timeline.steps(act, {}))
      if (!timeline.take(step)) break;
    profile.longest_later = std::max(profile.longest_later, timeline.longest());
    if (auto verdict = timeline.verdict(); !verdict) return verdict;
  }
  return {};
}

Result<ImpairProfile> read_impairment(Document document) {
  auto profile = read_static_profile(document);
  if (!profile) return profile;
  if (auto laid = lay_out(*profile, document); !laid) return std::unexpected(laid.error());
  if (auto tried = try_commands(*profile, document); !tried) return std::unexpected(tried.error());
  return profile;
}

Result<Document> edited(std::string_view text, std::string name, std::span<const Edit> edits) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return document;
  if (!edits.empty()) expand_path_alone(*document);
  for (const Edit& edit : edits)
    if (auto applied = document->apply(edit); !applied) return std::unexpected(applied.error());
  return document;
}

void set_entry(Entries& entries, const std::string& key, Value value) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  const Position at = value.at;
  entries.push_back({key, at, std::move(value)});
}

/// A step that adds this [[event]], counting packets from now.
ScenarioStep event_step(const std::string& name, Value table) {
  auto& entries = std::get<Entries>(table.data);
  std::erase_if(entries, [](const Entry& entry) { return entry.key == "on_command"; });
  set_entry(entries, "name", {table.at, name});
  set_entry(entries, "counted", {table.at, std::string("from-now")});
  const Position place = table.at;
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
    if (!timeline.take(step)) break;
  if (const auto verdict = timeline.verdict(); !verdict) return std::unexpected(verdict.error());
  return steps;
}

}  // namespace

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
  auto document = edited(text, std::move(name), edits);
  if (!document) return std::unexpected(document.error());
  return read_impairment(std::move(*document));
}

Result<ImpairProfile> parse_static_profile(std::string_view text, std::string name,
                                           std::span<const Edit> edits) {
  auto document = edited(text, std::move(name), edits);
  if (!document) return std::unexpected(document.error());
  return read_static_profile(*document);
}

Result<std::vector<ScenarioStep>> steps_on_command(std::string_view text, std::string name,
                                                   std::span<const Edit> edits,
                                                   const Command& command) {
  auto document = edited(text, std::move(name), edits);
  if (!document) return std::unexpected(document.error());
  expand_path_alone(*document);
  if (command.table && command.kind != "event") {
    Value table = *command.table;
    set_entry(std::get<Entries>(table.data), "name", {table.at, command.name});
    if (auto added = document->apply({.table = command.kind,
                                      .name = {},
                                      .key = {},
                                      .value = {},
                                      .parsed = std::move(table)});
        !added)
      return std::unexpected(added.error());
  }
  const auto profile = read_static_profile(*document);
  if (!profile) return std::unexpected(profile.error());
  Timeline timeline(*document, *profile, *document);
  if (command.table && command.kind == "event")
    return tried(timeline, {event_step(command.name, *command.table)});
  const auto act = std::ranges::find(profile->acts, command.name, &Act::name);
  if (act != profile->acts.end()) return tried(timeline, timeline.steps(*act, {}));
  const Edit of_event{.table = "event", .name = command.name, .key = {}, .value = {}};
  if (const Value* event = document->find(of_event))
    return tried(timeline, {event_step(command.name, *event)});
  return fail(
      fmt::format("{}: expected the name of an [[at]], [[protection]], [[flap]] or [[event]], "
                  "found \"{}\"",
                  document->name(), command.name));
}

}  // namespace lw::config

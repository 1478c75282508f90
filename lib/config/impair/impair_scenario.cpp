// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "config/impair/impair_profile.h"
#include "config/impair/impair_settled.h"

namespace lw::config {
namespace {

/// A profile as it changes: each change is read and validated whole.
class Course {
 public:
  /// Mistakes are noted in `mistakes`; both must outlive it.
  Course(const Document& begin, const ImpairProfile& settled, Document& mistakes)
      : now_(begin.copy()), settled_(&settled), mistakes_(&mistakes) {}

  /// False: it doesn't pass, and nothing after it makes sense.
  bool take(const ScenarioStep& step) {
    if (step.edits.empty()) return true;
    for (const Edit& edit : step.edits)
      if (const auto applied = now_.apply(edit); !applied)
        return refuse(step, applied.error().message);
    Document next = now_.copy();
    auto profile = read_settled(next);
    if (!profile) return refuse(step, profile.error().message);
    if (of_path(step) && !profile->by_path) return refuse(step, std::string(kNobodyGoesByIt));
    longest_ = std::max(longest_, profile->longest_delay());
    last_ = std::move(*profile);
    return true;
  }

  [[nodiscard]] std::vector<ScenarioStep> steps(const Act& act, Duration start) {
    return steps_of(act, start, [this](const Edit& edit) { return present(edit); }, *mistakes_);
  }
  [[nodiscard]] Duration longest() const noexcept { return longest_; }
  [[nodiscard]] Result<void> verdict() const {
    if (!own_words_.empty()) return fail(own_words_);
    return mistakes_->verdict();
  }

 private:
  static bool of_path(const ScenarioStep& step) {
    return std::ranges::any_of(step.edits, [](const Edit& edit) { return edit.table.empty(); });
  }
  [[nodiscard]] const ImpairProfile& profile() const { return last_ ? *last_ : *settled_; }

  /// "path" is a time, too, where both ways take the same.
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
    // A mistake's own place is nearer than the act's.
    if (why.starts_with(mistakes_->name() + ":")) {
      own_words_ = why;
    } else {
      mistakes_->refuse(step.place, fmt::format("{}: {}", step.act, why));
    }
    return false;
  }

  Document now_;
  const ImpairProfile* settled_;
  std::optional<ImpairProfile> last_;
  Document* mistakes_;
  std::string own_words_;  // of a change that did not pass
  Duration longest_{};
};

bool comes_before(const ScenarioStep& a, const ScenarioStep& b) { return a.at < b.at; }

/// All acts that have a time, as steps in the order of time. A ramp goes from what the steps
/// before its beginning made of the profile.
Result<void> lay_out(ImpairProfile& profile, Document& document) {
  std::vector<const Act*> timed;
  for (const Act& act : profile.acts)
    if (act.time) timed.push_back(&act);
  std::ranges::stable_sort(timed, {}, [](const Act* act) { return *act->time; });
  Course course(document, profile, document);
  std::vector<ScenarioStep>& steps = profile.scenario;
  std::size_t taken = 0;
  const auto take_until = [&](Duration time) {
    for (; taken < steps.size() && steps[taken].at <= time; ++taken)
      if (!course.take(steps[taken])) return false;
    return true;
  };
  for (const Act* act : timed) {
    if (!take_until(*act->time)) return course.verdict();
    const auto more = course.steps(*act, *act->time);
    steps.insert(steps.end(), more.begin(), more.end());
    std::stable_sort(steps.begin() + static_cast<std::ptrdiff_t>(taken), steps.end(), comes_before);
    if (steps.size() > kMostSteps) {
      document.refuse(act->place, fmt::format("{}: expected at most {} steps in all, found more",
                                              act->name, kMostSteps));
      break;
    }
  }
  if (document.verdict()) take_until(Duration::max());
  profile.longest_later = std::max(profile.longest_later, course.longest());
  return course.verdict();
}

/// Acts that wait for a command are looked at as if it came at once.
Result<void> try_commands(ImpairProfile& profile, Document& document) {
  for (const Act& act : profile.acts) {
    if (act.time) continue;
    Course course(document, profile, document);
    for (const ScenarioStep& step : course.steps(act, {}))
      if (!course.take(step)) break;
    profile.longest_later = std::max(profile.longest_later, course.longest());
    if (auto verdict = course.verdict(); !verdict) return verdict;
  }
  return {};
}

Result<ImpairProfile> read_whole(Document document) {
  auto profile = read_settled(document);
  if (!profile) return profile;
  if (auto laid = lay_out(*profile, document); !laid) return std::unexpected(laid.error());
  if (auto tried = try_commands(*profile, document); !tried) return std::unexpected(tried.error());
  return profile;
}

Result<Document> edited(std::string_view text, std::string name, std::span<const Edit> edits) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return document;
  for (const Edit& edit : edits)
    if (auto applied = document->apply(edit); !applied) return std::unexpected(applied.error());
  return document;
}

void set_entry(Entries& entries, const std::string& key, Value value) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  const Position at = value.at;
  entries.push_back({key, at, std::move(value)});
}

/// One more [[event]], as this one says, for the packets from now on.
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

/// Validates the command's steps, one after the other.
Result<std::vector<ScenarioStep>> tried(Course& course, std::vector<ScenarioStep> steps) {
  if (const auto verdict = course.verdict(); !verdict) return std::unexpected(verdict.error());
  for (const ScenarioStep& step : steps)
    if (!course.take(step)) break;
  if (const auto verdict = course.verdict(); !verdict) return std::unexpected(verdict.error());
  return steps;
}

}  // namespace

Result<ImpairProfile> load_impair_profile(const std::string& file) {
  auto document = Document::load(file);
  if (!document) return std::unexpected(document.error());
  return read_whole(std::move(*document));
}

Result<ImpairProfile> parse_impair_profile(std::string_view text, std::string name,
                                           std::span<const Edit> edits) {
  auto document = edited(text, std::move(name), edits);
  if (!document) return std::unexpected(document.error());
  return read_whole(std::move(*document));
}

Result<ImpairProfile> parse_settled_profile(std::string_view text, std::string name,
                                            std::span<const Edit> edits) {
  auto document = edited(text, std::move(name), edits);
  if (!document) return std::unexpected(document.error());
  return read_settled(*document);
}

Result<std::vector<ScenarioStep>> steps_on_command(std::string_view text, std::string name,
                                                   std::span<const Edit> edits,
                                                   const Command& command) {
  auto document = edited(text, std::move(name), edits);
  if (!document) return std::unexpected(document.error());
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
  const auto settled = read_settled(*document);
  if (!settled) return std::unexpected(settled.error());
  Course course(*document, *settled, *document);
  if (command.table && command.kind == "event")
    return tried(course, {event_step(command.name, *command.table)});
  const auto act = std::ranges::find(settled->acts, command.name, &Act::name);
  if (act != settled->acts.end()) return tried(course, course.steps(*act, {}));
  const Edit of_event{.table = "event", .name = command.name, .key = {}, .value = {}};
  if (const Value* event = document->find(of_event))
    return tried(course, {event_step(command.name, *event)});
  return fail(
      fmt::format("{}: nothing is called \"{}\": expected the name of an [[at]], a "
                  "[[protection]], a [[flap]] or an [[event]]",
                  document->name(), command.name));
}

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/scenario.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "config/limits.h"
#include "core/limits.h"

namespace lw::config {
namespace {

constexpr Duration kShortestStep = std::chrono::milliseconds(1);
constexpr Duration kUsualStep = std::chrono::milliseconds(100);
constexpr std::uint32_t kMostOfARamp = 1000, kMostFlaps = 1000;

Parsed<Value> read_any(const Value& value) { return value; }

Parsed<Duration> read_some_time(std::string_view text) {
  const auto time = parse_duration(text);
  if (time && time->count() <= 0)
    return std::unexpected(fmt::format("expected more than 0, found \"{}\"", text));
  return time;
}

/// Reads name and time; at least one is required.
Act read_act(const Table& table, std::string kind, std::size_t index) {
  Act act{.kind = kind,
          .name = unnamed(kind, index),
          .place = table.position(),
          .time = table.get("time", read_some_time)};
  const auto name = table.get("name", read_text);
  if (name) act.name = *name;
  if (!name && !table.has("time"))
    table.refuse("expected a time, or a name for a command, found neither");
  return act;
}

/// Adds an edit per key. Dotted keys change single keys of a table; a table in braces replaces the
/// whole table.
void add_edits(const std::string& prefix, const Value& set, const Edit& target,
               std::vector<Edit>& edits) {
  for (const Entry& entry : std::get<Entries>(set.data)) {
    const std::string key = prefix + entry.key;
    if (entry.value.dotted && std::holds_alternative<Entries>(entry.value.data)) {
      add_edits(key + ".", entry.value, target, edits);
      continue;
    }
    Edit edit = target;
    edit.key = key;
    edit.parsed = entry.value;
    edit.parsed->at = entry.at;
    edits.push_back(std::move(edit));
  }
}

/// Names of the [[rule]]s and [[event]]s, by "rule" and "event".
using TargetNames = std::map<std::string, std::set<std::string>>;

TargetNames target_names(const Table& root) {
  TargetNames names{{"event", {}}, {"rule", {}}};
  for (auto& [kind, known] : names) {
    std::size_t index = 0;
    for (const Table& table : root.tables(kind))
      known.insert(table.get_or("name", read_text, unnamed(kind, index++)));
  }
  return names;
}

/// Returns the rule or event that an [[at]] changes; otherwise the root.
Edit read_target(const Table& table, const TargetNames& names) {
  Edit target{.table = {}, .name = {}, .key = {}, .value = {}, .parsed = {}, .of_scenario = true};
  if (table.has("rule") && table.has("event"))
    table.refuse("event", "expected either a rule or an event, found both");
  for (const auto& [kind, known] : names) {
    const auto name = table.get(kind, read_text);
    if (!name) continue;
    if (!known.contains(*name))
      table.refuse(kind, fmt::format("expected a [[{}]]'s name, found \"{}\"", kind, *name));
    target.table = kind;
    target.name = *name;
  }
  return target;
}

/// Refuses keys that can't change in a run.
void check_keys(const Table& table, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    const bool of_path = edit.key == "path" || edit.key == "outage" || edit.key == "path_order";
    if (edit.table.empty() && !of_path)
      table.refuse("set",
                   fmt::format("expected path, path_order or outage, or a key of rule = \"NAME\", "
                               "found {}",
                               edit.key));
    if (!edit.table.empty() && edit.key == "name")
      table.refuse("set", "expected other keys than name: random draws depend on it");
  }
}

void read_ramp(const Table& table, Act& act) {
  const auto over = table.get("over", read_some_time);
  const auto every = table.get("every", read_some_time);
  const auto steps = table.get("steps", integer<std::uint32_t>(2, kMostOfARamp));
  if (every && steps) table.refuse("steps", "expected either steps or every, found both");
  if (!over && (every || steps))
    table.refuse(every ? "every" : "steps", "expected only with over = \"5s\", found without");
  if (!over) return;
  act.over = *over;
  const auto wanted = std::max<Duration::rep>(1, *over / every.value_or(kUsualStep));
  if (every && wanted > kMostOfARamp)
    table.refuse("every", fmt::format("expected at most {} steps, found {}", kMostOfARamp, wanted));
  act.ramp =
      steps.value_or(static_cast<std::uint32_t>(std::min<Duration::rep>(wanted, kMostOfARamp)));
  if (*over / act.ramp < kShortestStep)
    table.refuse("over", fmt::format("expected steps of at least 1 ms, found {}",
                                     format_set_duration(*over / act.ramp)));
}

Act read_at(const Table& table, std::size_t index, const TargetNames& names) {
  Act act = read_act(table, "at", index);
  const Edit target = read_target(table, names);
  ScenarioStep step{.at = {}, .act = act.name, .place = act.place};
  const auto is_table = [](const Value& value) -> Parsed<Value> {
    if (std::holds_alternative<Entries>(value.data)) return value;
    return std::unexpected("expected keys and values such as {loss = \"1%\"}, found " +
                           describe(value));
  };
  if (const auto set = table.require("set", is_table, "keys and values such as {loss = \"1%\"}"))
    add_edits("", *set, target, step.edits);
  check_keys(table, step.edits);
  read_ramp(table, act);
  table.finish();
  act.steps.push_back(std::move(step));
  return act;
}

Edit root_edit(std::string key, Value value) {
  return {.table = {},
          .name = {},
          .key = std::move(key),
          .value = {},
          .parsed = std::move(value),
          .of_scenario = true};
}

/// An outage of the path, followed by a change of path.
Act read_protection(const Table& table, std::size_t index) {
  Act act = read_act(table, "protection", index);
  const FilePosition at = act.place;
  const auto outage = table.require("outage", parse_duration, "a duration such as \"50ms\"");
  const auto path = table.require("path", read_any, "the new path such as \"other.toml\"");
  static constexpr Choice<bool> kOrders[] = {{"kept", false}, {"free", true}};
  const bool free = table.get_or("order", choice(kOrders), false);
  table.finish();
  if (!outage || !path) return act;
  ScenarioStep over{.at = *outage, .act = act.name, .place = at};
  if (outage->count() > 0) {
    act.steps.push_back(
        {.at = {}, .act = act.name, .place = at, .edits = {root_edit("outage", {at, true})}});
    over.edits.push_back(root_edit("outage", {at, false}));
  }
  over.edits.push_back(root_edit("path", *path));
  over.edits.push_back(root_edit("path_order", {at, std::string(free ? "free" : "kept")}));
  act.steps.push_back(std::move(over));
  return act;
}

/// A link goes down and up again, once or several times.
Act read_flap(const Table& table, std::size_t index) {
  static constexpr Choice<LinkChange> kPorts[] = {
      {"west", {.west = true}}, {"east", {.east = true}}, {"both", {.west = true, .east = true}}};
  Act act = read_act(table, "flap", index);
  LinkChange links =
      table.require("port", choice(kPorts), "west, east or both").value_or(LinkChange{});
  const auto down = table.require("down", read_some_time, "a duration such as \"200ms\"");
  const auto times = table.get_or("times", integer<std::uint32_t>(1, kMostFlaps), 1U);
  const auto every = table.get("every", read_some_time);
  if (times > 1 && !every)
    table.refuse("times", "expected every = \"5s\" too, the interval between flaps; found none");
  if (every && down && *every <= *down)
    table.refuse("every", "expected more than down, as the link comes up in between");
  const bool too_long = every && *every > Duration(kLongestTime) / times;
  if (too_long)
    table.refuse("every", fmt::format("expected all flaps within {}, found {} every {}",
                                      format_set_duration(kLongestTime), times,
                                      format_set_duration(*every)));
  table.finish();
  for (std::uint32_t i = 0; down && !too_long && i < times; ++i) {
    const Duration begin = every.value_or(Duration{}) * std::int64_t{i};
    for (links.up = false;; links.up = true) {
      act.steps.push_back({.at = links.up ? begin + *down : begin,
                           .act = act.name,
                           .place = act.place,
                           .edits = {},
                           .links = links});
      if (links.up) break;
    }
  }
  return act;
}

/// First value of a ramp for a stage that the rule doesn't have: 0.
std::optional<Value> zero_of(const Edit& target) {
  if (target.table != "rule" || std::holds_alternative<Entries>(target.parsed->data))
    return std::nullopt;
  if (target.key == "delay") return Value{target.parsed->at, std::string("0ns")};
  constexpr std::string_view kShares[] = {"loss", "corrupt", "duplicate", "mark"};
  if (std::ranges::find(kShares, target.key) == std::end(kShares)) return std::nullopt;
  return Value{target.parsed->at, std::int64_t{0}};
}

void add_ramp(std::vector<ScenarioStep>& steps, const Edit& target, std::optional<Value> from,
              Document& document) {
  const auto refuse = [&](std::string_view why) {
    document.refuse(target.parsed->at, fmt::format("{}: {}", target.key, why));
  };
  if (!from) from = zero_of(target);
  if (!from) return refuse("expected a first value of the ramp in the profile, found none");
  for (std::size_t i = 1; i <= steps.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(steps.size());
    const auto value = between(*from, *target.parsed, share);
    if (!value) return refuse(value.error());
    steps[i - 1].edits.push_back(target);
    steps[i - 1].edits.back().parsed = i == steps.size() ? *target.parsed : *value;
  }
}

std::optional<double> plain_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data))
    return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  return std::nullopt;
}

double part_way(double from, double to, double share) noexcept {
  return from + (to - from) * share;
}

Value number_value(FilePosition at, double number) {
  if (std::floor(number) == number && std::abs(number) < 1e15)
    return {at, static_cast<std::int64_t>(number)};
  return {.at = at, .data = number, .exact = true};
}

}  // namespace

std::vector<Act> read_acts(const Table& root) {
  std::vector<Act> acts;
  std::set<std::string> names;
  std::size_t steps = 0;
  const auto read = [&](std::string_view kind, auto reader) {
    std::size_t index = 0;
    for (const Table& table : root.tables(kind)) {
      acts.push_back(reader(table, index++));
      steps += std::max<std::size_t>(acts.back().steps.size(), acts.back().ramp);
      if (steps > kMostSteps)
        return table.refuse(
            fmt::format("expected at most {} steps in total, found more", kMostSteps));
      if (!names.insert(acts.back().name).second)
        table.refuse("name",
                     fmt::format("expected a unique name, found \"{}\" again", acts.back().name));
    }
  };
  const TargetNames targets = target_names(root);
  read("at", [&](const Table& table, std::size_t i) { return read_at(table, i, targets); });
  read("protection", read_protection);
  read("flap", read_flap);
  return acts;
}

std::vector<ScenarioStep> steps_of(const Act& act, Duration start, const Present& present,
                                   Document& document) {
  std::vector<ScenarioStep> steps = act.steps;
  if (act.ramp > 0) {
    const std::vector<Edit> targets = act.steps.front().edits;
    steps.assign(act.ramp, ScenarioStep{.at = {}, .act = act.name, .place = act.place});
    // In two parts, as the product of the longest time and the number of steps overflows.
    const Duration step = act.over / act.ramp, rest = act.over % act.ramp;
    for (std::uint32_t i = 0; i < act.ramp; ++i)
      steps[i].at =
          step * std::int64_t{i + 1} + rest * std::int64_t{i + 1} / std::int64_t{act.ramp};
    for (const Edit& target : targets) add_ramp(steps, target, present(target), document);
  }
  for (ScenarioStep& step : steps) step.at += start;
  return steps;
}

Parsed<Value> between(const Value& from, const Value& to, double share) {
  const auto a = plain_number(from), b = plain_number(to);
  if (a && b) return number_value(to.at, part_way(*a, *b, share));
  const std::string first = text_of(from), last = text_of(to);
  const auto at = [&](const auto& x, const auto& y) {
    return part_way(static_cast<double>(x), static_cast<double>(y), share);
  };
  const auto text = [&](std::string words) { return Value{to.at, std::move(words)}; };
  if (const auto x = parse_probability(first), y = parse_probability(last); x && y)
    return text(fmt::format("{:.17e}", at(*x, *y)));
  if (const auto x = parse_duration(first), y = parse_duration(last); x && y)
    return text(fmt::format("{}ns", std::llround(at(x->count(), y->count()))));
  if (const auto x = parse_bytes(first), y = parse_bytes(last); x && y)
    return text(fmt::format("{}B", std::llround(at(*x, *y))));
  if (const auto x = parse_bit_rate(first), y = parse_bit_rate(last); x && y)
    return text(fmt::format("{:.0f}b/s", at(*x, *y)));
  return std::unexpected(fmt::format("expected two values of one kind for a ramp, found {} and {}",
                                     describe(from), describe(to)));
}

}  // namespace lw::config

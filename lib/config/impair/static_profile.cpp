// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/static_profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "capture/filter_words.h"
#include "config/impair/match.h"
#include "config/impair/path.h"
#include "config/impair/profile.h"
#include "config/impair/shared_queues.h"
#include "config/impair/table_keys.h"
#include "config/limits.h"
#include "config/toml/document.h"
#include "config/toml/expectations.h"
#include "core/input.h"
#include "emulator/pipeline.h"

namespace lw::config {

Parsed<void> check_rule_count(std::size_t count) {
  if (count <= emulator::kMostRules) return {};
  return std::unexpected(
      fmt::format("expected at most {} [[rule]]s, found {}", emulator::kMostRules, count));
}

Parsed<std::string> read_whole_file(const std::filesystem::path& folder, const FileName& name) {
  const std::filesystem::path file =
      name.only ? std::filesystem::path(name.only->path_of(folder, name.text)) : folder / name.text;
  std::error_code ignored;
  if (!name.only && !std::filesystem::is_regular_file(file, ignored))
    return std::unexpected(fmt::format("expected a file, found none at {}", file.string()));
  auto text = name.only ? name.only->read(file) : read_input_file(file.string(), kMostProfileBytes);
  if (!text) return std::unexpected(text.error().message);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // spreadsheets write it before UTF-8
  if (text->starts_with(kByteOrderMark)) text->erase(0, kByteOrderMark.size());
  return std::move(*text);
}

void read_stages(const Table& rule, const std::filesystem::path& folder,
                 emulator::RuleConfig& config) {
  emulator::read_stages(*keys_of(rule, folder), config);
}

namespace {

constexpr std::string_view kUntouchedName =
    "untouched";  // name in reports of frames that no rule matches

using emulator::RuleConfig;
using emulator::Ways;

// Ethernet's minimum without FCS, and the largest frame that ports carry.
constexpr std::uint32_t kSmallestFrame = 60, kLargestFrame = 9600;
constexpr std::uint64_t kLeastBuffer = 150'000;  // bytes

/// A rule's own delay, or that of the path.
struct Delay {
  bool of_path = false;
  Duration own{};
};

Parsed<Delay> read_delay(std::string_view text) {
  if (text == "path") return Delay{true, {}};
  const auto own = parse_duration(text);
  if (!own) return std::unexpected(own.error() + " (or \"path\")");
  return Delay{false, *own};
}

Parsed<std::uint32_t> read_frame_size(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes < kSmallestFrame || *bytes > kLargestFrame)
    return std::unexpected(
        fmt::format("expected {}..{} B, found {} B", kSmallestFrame, kLargestFrame, *bytes));
  return static_cast<std::uint32_t>(*bytes);
}

/// True if `path` names a file, false if it is a table.
Parsed<bool> is_text(const Value& value) { return std::holds_alternative<std::string>(value.data); }

Result<emulator::Path> load_beside(const std::string& profile, const FileName& file) {
  return load_path_profile(beside(profile, file), file.only);
}

/// A rule of the file.
struct ReadRule {
  RuleConfig config;
  bool of_path = false;  // delay = "path"
};

/// Keys of the root that all rules with delay = "path" depend on.
struct PathSettings {
  std::optional<emulator::Path> path;
  bool outage = false;      // the path is down
  bool order_free = false;  // frames may overtake when the path changes
  std::filesystem::path folder;
};

PathSettings read_path_settings(const Table& root, std::optional<emulator::Path> path,
                                const std::string& file) {
  static constexpr Choice<bool> kOrders[] = {{"kept", false}, {"free", true}};
  return {.path = std::move(path),
          .outage = root.get_or("outage", read_boolean, false),
          .order_free = root.get_or("path_order", choice(kOrders), false),
          .folder = std::filesystem::path(file).parent_path()};
}

/// The buffer of a queue that a profile describes by its rate alone: what the rate carries in a
/// round trip, and at least a few of the largest frames.
std::uint64_t round_trip_buffer(double rate_bps, Duration round_trip) {
  const double bytes = std::ceil(emulator::bandwidth_delay_bytes(rate_bps, round_trip));
  return std::clamp(static_cast<std::uint64_t>(bytes), kLeastBuffer, emulator::kLargestBuffer);
}

/// Refuses what the stage corrupt does not do to packets within tunnels.
void check_tunnelled(const Table& table, const RuleConfig& rule) {
  if (!rule.match.tunnel || !rule.corrupt) return;
  using enum emulator::CorruptConfig::Part;
  if (rule.corrupt->offset && rule.corrupt->part == packet)
    table.refuse("corrupt",
                 "expected no offset beside a tunnel in match: bits of the packet within are "
                 "flipped at random");
  if (rule.corrupt->recompute_icrc && rule.corrupt->part == frame)
    table.refuse("corrupt",
                 "expected part = \"packet\" beside icrc = \"recomputed\" and a tunnel in match: "
                 "outer headers have no ICRC");
}

ReadRule read_rule(const Table& table, std::size_t index, const PathSettings& around) {
  ReadRule read;
  RuleConfig& rule = read.config;
  rule.name = table.get_or("name", read_text, unnamed("rule", index));
  if (rule.name == kUntouchedName)
    table.refuse(
        "name",
        "expected another name, found \"untouched\", the name of frames that no rule matches");
  rule.match = read_match(table);
  const Ways ways = read_direction(table);
  rule.west_to_east = ways != Ways::east_to_west;
  rule.east_to_west = ways != Ways::west_to_east;
  read_stages(table, around.folder, rule);
  check_tunnelled(table, rule);
  if (const auto delay = table.get("delay", read_delay)) {
    if (delay->of_path && !around.path)
      table.refuse("delay", "expected a [path] or path = \"FILE\" in this profile, found none");
    read.of_path = delay->of_path && around.path.has_value();
    rule.outage = read.of_path && around.outage;
    rule.overtakes = read.of_path && around.order_free;
    if (!delay->of_path) rule.delay = delay->own;
  }
  if (rule.queue && rule.queue->buffer_bytes == 0)
    rule.queue->buffer_bytes =
        round_trip_buffer(rule.queue->rate_bps, read.of_path ? emulator::round_trip(*around.path)
                                                             : 2 * rule.delay.value_or(Duration{}));
  table.finish();
  return read;
}

/// Adds a rule. A rule of both directions becomes two rules of one name if the path's delays
/// differ.
void add_rule(std::vector<RuleConfig>& rules, ReadRule read,
              const std::optional<emulator::Path>& path) {
  const auto delay = [&](emulator::Direction way) { return emulator::one_way_delay(*path, way); };
  RuleConfig& rule = read.config;
  if (read.of_path)
    rule.delay = delay(rule.west_to_east ? emulator::Direction::west_to_east
                                         : emulator::Direction::east_to_west);
  const bool split =
      read.of_path && rule.west_to_east && rule.east_to_west && !emulator::symmetric(*path);
  if (split) rule.east_to_west = false;
  rules.push_back(rule);
  if (!split) return;
  rule.delay = delay(emulator::Direction::east_to_west);
  rule.west_to_east = false;
  rule.east_to_west = true;
  rules.push_back(std::move(rule));
}

void check_names(const std::vector<Table>& tables, const std::vector<ReadRule>& rules) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!names.insert(rules[i].config.name).second)
      tables[i].refuse(
          "name", fmt::format("expected a unique name, found \"{}\" again", rules[i].config.name));
}

/// Records an error if compiling the rules' filters would take too long.
bool check_filters(const std::vector<Table>& rules) {
  std::size_t words = 0;
  for (const Table& rule : rules) {
    if (!rule.get("match", is_table).value_or(false)) continue;
    words += capture::filter_words(rule.table("match")->get_or("filter", read_text, ""));
    if (words <= kMostFilterWords) continue;
    rule.refuse("match",
                fmt::format("expected filters of at most {} words in all rules, found more",
                            kMostFilterWords));
    return false;
  }
  return true;
}

std::vector<RuleConfig> read_rules(const Table& root, const PathSettings& around, bool& by_path) {
  const std::vector<Table> tables = root.tables("rule");
  if (tables.empty() && !root.has("event"))
    root.refuse("expected at least one [[rule]] or [[event]], found none");
  if (const auto few = check_rule_count(tables.size()); !few) {
    root.refuse(few.error());
    return {};
  }
  if (!check_filters(tables)) return {};
  std::vector<ReadRule> read;
  for (const Table& table : tables) read.push_back(read_rule(table, read.size(), around));
  check_names(tables, read);
  std::vector<RuleConfig*> configs;
  for (ReadRule& rule : read) configs.push_back(&rule.config);
  share_queues(tables, configs);
  by_path = std::ranges::any_of(read, &ReadRule::of_path);
  if (around.outage && !by_path) root.refuse("outage", kNoRuleUsesPath);
  std::vector<RuleConfig> rules;
  for (ReadRule& rule : read) add_rule(rules, std::move(rule), around.path);
  return rules;
}

Capacity read_capacity(const Table& root, const std::optional<emulator::Path>& path) {
  Capacity capacity;
  if (path) capacity.rate_bps = path->rate_bps;
  const auto table = root.table("capacity");
  if (!table) return capacity;
  capacity.rate_bps = table->get_or("rate", parse_bit_rate, capacity.rate_bps);
  capacity.reserve = table->get_or("reserve", parse_duration, capacity.reserve);
  capacity.smallest_frame =
      table->get_or("smallest_frame", read_frame_size, capacity.smallest_frame);
  capacity.largest_frame = table->get_or("largest_frame", read_frame_size, capacity.largest_frame);
  if (capacity.smallest_frame > capacity.largest_frame)
    table->refuse("smallest_frame", fmt::format("expected at most largest_frame, {} B, found {} B",
                                                capacity.largest_frame, capacity.smallest_frame));
  table->finish();
  return capacity;
}

bool read_log_all(const Table& root) {
  const auto table = root.table("ledger");
  if (!table) return false;
  const bool all = table->get_or("all", read_boolean, false);
  table->finish();
  return all;
}

/// A file with a path and no rules: RoCEv2 frames get the path's delay in both directions.
ImpairProfile read_path_alone(const Table& root, const std::string& file) {
  ImpairProfile profile;
  profile.path = read_path(root, file);
  profile.name = profile.path->name;
  profile.capacity.rate_bps = profile.path->rate_bps;
  ReadRule rule{.config = {}, .of_path = true};
  rule.config.name = profile.name;
  add_rule(profile.rules, std::move(rule), profile.path);
  return profile;
}

bool is_path_alone(const Table& root) {
  return (root.has("span") || root.has("equipment")) && !root.has("rule");
}

/// Reads `path`, a table or a file's name. An error in that file has its place behind that of
/// `path`.
Result<std::optional<emulator::Path>> read_own_path(const Table& root, const std::string& file,
                                                    const std::string& name) {
  if (root.get("path", is_text).value_or(false)) {
    auto path = load_beside(file, root.file_name("path").value_or(FileName{}));
    if (!path)
      return fail(fmt::format("{}: path: {}", root.place("path"), path.error().message),
                  path.error().exit);
    return std::move(*path);
  }
  if (const auto table = root.table("path")) return read_path(*table, name);
  return std::nullopt;
}

}  // namespace

void expand_path_alone(Document& document) {
  const Table root = document.root();
  if (!is_path_alone(root)) return;
  const std::string name = root.get_or("name", read_text, document.name());
  const Value text{root.position(), name}, path{root.position(), std::string("path")};
  document.nest("path");
  // Neither edit can fail.
  static_cast<void>(
      document.apply({.table = {}, .name = {}, .key = "name", .value = {}, .parsed = text}));
  Entries rule{{"delay", path.at, path}, {"name", text.at, text}};
  static_cast<void>(document.apply({.table = "rule",
                                    .name = {},
                                    .key = {},
                                    .value = {},
                                    .parsed = Value{text.at, std::move(rule)}}));
}

Result<ImpairProfile> read_static_profile(Document& document) {
  const Table root = document.root();
  if (is_path_alone(root)) {
    ImpairProfile alone = read_path_alone(root, document.name());
    if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
    return alone;
  }
  ImpairProfile profile;
  profile.name = root.get_or("name", read_text, document.name());
  profile.seed = root.get_or("seed", integer<std::uint64_t>(), 1);
  auto path = read_own_path(root, document.name(), profile.name);
  if (!path) return std::unexpected(path.error());
  profile.path = std::move(*path);
  profile.capacity = read_capacity(root, profile.path);
  profile.log_all = read_log_all(root);
  static constexpr Choice<OnLinkLoss> kOnLinkLoss[] = {{"stop", OnLinkLoss::stop},
                                                       {"hold", OnLinkLoss::hold}};
  profile.on_link_loss = root.get_or("on_link_loss", choice(kOnLinkLoss), OnLinkLoss::stop);
  if (const auto expect = root.table("expect")) profile.expect = read_expectations(*expect);
  profile.rules =
      read_rules(root, read_path_settings(root, profile.path, document.name()), profile.by_path);
  ProfileEvents events = read_events(root);
  profile.events = std::move(events.armed);
  profile.events_on_command = std::move(events.on_command);
  profile.acts = std::make_shared<const std::vector<Act>>(read_acts(root));
  root.finish();
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return profile;
}

Duration ImpairProfile::longest_delay() const noexcept {
  Duration longest = longest_later;
  for (const RuleConfig& rule : rules) longest = std::max(longest, emulator::ample_delay(rule));
  return longest;
}

Duration ImpairProfile::longest_stay() const noexcept {
  Duration longest{};
  for (const emulator::EventConfig& event : events) longest = std::max(longest, event.delay);
  return longest_delay() + longest;
}

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/control.h"

#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "capture/file_names.h"
#include "core/json.h"
#include "core/limits.h"
#include "impair/datapath/configuration.h"
#include "impair/limits.h"
#include "impair/report/run_verdict.h"
#include "nic/clock.h"
#include "report/figures/json.h"
#include "report/verdict.h"

namespace lw::impair {
namespace {

using report::Json;

/// Returns the value as in a profile: a text without quotes, a number, true or false.
std::string toml_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Result<std::vector<config::Edit>> edits_of(const Json& request, const config::ClientFiles* only) {
  const auto rule = request.find("rule");
  const auto keys = request.find("keys");
  if (rule == request.end() || !rule->is_string() || keys == request.end() || !keys->is_object() ||
      keys->empty())
    return fail("set: expected a \"rule\" and its \"keys\"");
  std::vector<config::Edit> edits;
  for (const auto& [key, value] : keys->items()) {
    if (key.empty()) return fail("set: expected keys, found one without a name");
    edits.push_back({.table = "rule",
                     .name = rule->get<std::string>(),
                     .key = key,
                     .value = toml_text(value),
                     .only = only});
  }
  return edits;
}

/// Returns a number of a request to record, within `least` and `most`; 0 if it is not there.
Result<std::uint64_t> number_of(const Json& request, const char* name, std::uint64_t least,
                                std::uint64_t most) {
  const auto number = request.find(name);
  if (number == request.end()) return 0;
  if (number->is_number_unsigned() && number->get<std::uint64_t>() >= least &&
      number->get<std::uint64_t>() <= most)
    return number->get<std::uint64_t>();
  return fail(fmt::format("record: expected \"{}\" of {} to {}", name, least, most));
}

/// True also for a link that leads nowhere.
bool is_there(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::exists(std::filesystem::symlink_status(path, unknown));
}

/// Returns a file that is there already and has the name of one of the files of a recording; empty:
/// there is none.
std::string numbered_file_of(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  const std::size_t digits = capture::numbered_name(name, 1).rfind("-00001") + 1;
  std::error_code failed;  // a folder that can't be read: to open the first file fails, too
  std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    std::string path = (folder / at->path().filename()).string();
    std::uint64_t number = 0;
    if (path.size() > digits)
      std::from_chars(path.data() + digits, path.data() + path.size(), number);
    if (number > 0 && capture::numbered_name(name, number) == path) return path;
  }
  return {};
}

/// Returns how a request asks to record.
Result<RecordingShape> shape_of(const Json& request) {
  const auto bytes = number_of(request, "bytes", 1, std::numeric_limits<std::uint32_t>::max());
  if (!bytes) return std::unexpected(bytes.error());
  const auto size = number_of(request, "rotate", kSmallestFileInTurn, kLargestSize);
  if (!size) return std::unexpected(size.error());
  const auto files = number_of(request, "ring", 1, kMostFilesInTurn);
  if (!files) return std::unexpected(files.error());
  if (*files > 0 && *size == 0)
    return fail("record: \"ring\" needs \"rotate\": the ring is of its files");
  return RecordingShape{.most_bytes = static_cast<std::uint32_t>(*bytes),
                        .rotation = {.size = *size, .files = static_cast<std::uint32_t>(*files)}};
}

/// Converts JSON to a value of a profile, without a position. Returns nothing if it is nested
/// deeper than `depth`.
std::optional<config::Value> value_of(const Json& json, int depth = 8) {
  constexpr config::FilePosition kNowhere{};
  if (depth == 0) return std::nullopt;
  if (json.is_boolean()) return config::Value{kNowhere, json.get<bool>()};
  if (json.is_number_integer()) return config::Value{kNowhere, json.get<std::int64_t>()};
  if (json.is_number())
    return config::Value{.at = kNowhere, .data = json.get<double>(), .exact = true};
  if (json.is_string()) return config::Value{kNowhere, json.get<std::string>()};
  if (json.is_array()) {
    config::Array items;
    for (const Json& item : json) {
      auto value = value_of(item, depth - 1);
      if (!value) return std::nullopt;
      items.push_back(std::move(*value));
    }
    return config::Value{kNowhere, std::move(items)};
  }
  if (!json.is_object()) return std::nullopt;
  config::Entries entries;
  for (const auto& [key, item] : json.items()) {
    auto value = value_of(item, depth - 1);
    if (!value) return std::nullopt;
    entries.push_back({key, kNowhere, std::move(*value)});
  }
  return config::Value{kNowhere, std::move(entries)};
}

std::string line_of(const Answer& answer) { return report::json_line(kControlOutput, answer); }

}  // namespace

const config::ClientFiles Control::kNoFiles;

SharedText Control::answer(std::string_view request, Access access, const std::string& by) {
  const auto line = [](const Result<Answer>& answer) {
    return std::make_shared<const std::string>(line_of(answer ? *answer : refusal(answer.error())));
  };
  const Json json = parse_json(request);
  if (!json.is_object()) return line(fail("expected a JSON object"));
  const Request asked{json, access == Access::full ? nullptr : remote_, by};
  const auto name = json.find("do");
  const std::string what = name != json.end() && name->is_string() ? name->get<std::string>() : "";
  if (what == "show") return show();
  if (what == "preview") return line(preview(asked));
  if (what == "records") return line(records());
  if (access == Access::read)
    return line(fail("this page only shows the run: expected \"do\": show, records or preview"));
  const auto changed = change(what, asked);
  const std::lock_guard lock(show_);
  shown_.forget();
  return line(changed);
}

std::string Control::too_long(std::size_t most) {
  return line_of(
      refusal({fmt::format("expected a request of {} bytes at most, found a longer line", most)}));
}

SharedText Control::show() {
  const std::lock_guard lock(show_);
  return shown_.get([this] { return line_of(shown()); });
}

Result<Answer> Control::preview(const Request& request) const {
  const auto edits = edits_of(request.json, request.only);
  if (!edits) return std::unexpected(edits.error());
  const auto profile = run_.preview(*edits);
  if (!profile) return std::unexpected(profile.error());
  return Answer{
      .rules = rule_rows(*profile),
      .text = rules_text(*profile) + "in flight each way: " + arithmetic(*profile) + "\n"};
}

Result<Answer> Control::records() const {
  const auto lines = run_.records();
  if (!lines) return std::unexpected(lines.error());
  Answer answer{.records = std::vector<JsonText>(), .text = ""};
  for (const std::string& line : *lines) {
    answer.records->push_back({line});
    *answer.text += line + "\n";
  }
  return answer;
}

/// Refuses a file that exists, also a link that leads nowhere: it may belong to another run.
Result<Answer> Control::record(const Request& request) {
  const auto file = request.json.find("file");
  if (file == request.json.end() || !file->is_string()) return fail("record: expected a \"file\"");
  const auto name = file->get<std::string>();
  if (request.only && name.find('/') != std::string::npos)
    return fail(fmt::format(
        "record: expected the name of a file in the run's folder, without /, found {}", name));
  const auto shape = shape_of(request.json);
  if (!shape) return std::unexpected(shape.error());
  const bool rotates = shape->rotation.size > 0;
  const std::string first = rotates ? capture::numbered_name(name, 1) : name;
  if (const std::string there = rotates ? numbered_file_of(name) : first; is_there(there))
    return fail(fmt::format("record: {} exists: choose another name, or remove it", there));
  const std::lock_guard lock(recording_);
  if (auto begun = run_.record(name, *shape); !begun) return std::unexpected(begun.error());
  return Answer{.text =
                    fmt::format("recording to {}{}\n", first, rotates ? " and further files" : "")};
}

Result<Answer> Control::stop_recording() {
  const std::lock_guard lock(recording_);
  const auto capture = run_.stop_recording();
  if (!capture) return std::unexpected(capture.error());
  return Answer{.capture = *capture, .text = capture_text(*capture)};
}

Result<Answer> Control::change(const std::string& what, const Request& request) {
  if (what == "record") return record(request);
  if (what == "stop-recording") return stop_recording();
  if (auto done = act(what, request); !done) return std::unexpected(done.error());
  const config::ImpairProfile profile = run_.profile();
  return Answer{.rules = rule_rows(profile), .text = rules_text(profile)};
}

namespace {

/// Returns when a load's scenario or an event begins: "begin_ns", by the machine's steady clock,
/// which all runs on a machine share; without it, or if it is past, at once.
Result<Instant> begin_of(const Json& json) {
  const auto begin = json.find("begin_ns");
  if (begin == json.end()) return Instant{};
  const std::int64_t latest = to_ns(nic::now() + kLongestAhead);
  if (begin->is_number_unsigned() && std::cmp_less_equal(begin->get<std::uint64_t>(), latest))
    return instant_from_ns(begin->get<std::int64_t>());
  return fail(fmt::format(
      "begin_ns: expected a time of CLOCK_MONOTONIC in ns, at most {} h ahead, found {}",
      kLongestAhead.count(), begin->dump()));
}

}  // namespace

Result<void> Control::act(const std::string& what, const Request& request) {
  const auto begin = begin_of(request.json);
  if (!begin) return std::unexpected(begin.error());
  if (what == "reset") return run_.reset(request.by);
  if (what == "undo") return run_.undo(request.by);
  if (what == "load") {
    const auto file = request.json.find("file");
    if (file == request.json.end() || !file->is_string()) return fail("load: expected a \"file\"");
    return run_.load({file->get<std::string>(), request.only}, request.by, *begin);
  }
  if (what == "set") {
    const auto edits = edits_of(request.json, request.only);
    if (!edits) return std::unexpected(edits.error());
    return run_.set(*edits, request.by);
  }
  if (what == "event") {
    const auto command = read_command(request);
    if (!command) return std::unexpected(command.error());
    return run_.command(*command, request.by, *begin);
  }
  return fail(fmt::format(
      "expected \"do\": show, records, preview, set, load, reset, undo, event, record or "
      "stop-recording, found \"{}\"",
      what));
}

Result<config::ControlCommand> Control::read_command(const Request& request) {
  const Json& json = request.json;
  if (const auto name = json.find("name"); name != json.end() && name->is_string())
    return config::ControlCommand{.name = name->get<std::string>()};
  for (const std::string kind : {"event", "at", "protection", "flap"}) {
    const auto table = json.find(kind);
    if (table == json.end() || !table->is_object()) continue;
    auto value = value_of(*table);
    if (!value) return fail(fmt::format("event: expected keys and values in \"{}\"", kind));
    config::restrict_files(*value, request.only);
    const auto name = table->find("name");
    const bool named = name != table->end() && name->is_string();
    return config::ControlCommand{
        .name = named ? name->get<std::string>() : fmt::format("command {}", ++commands_),
        .kind = kind,
        .table = std::move(value)};
  }
  return fail(
      "event: expected a \"name\", or an \"event\", \"at\", \"protection\" or \"flap\" "
      "with its keys");
}

Answer Control::shown() const {
  Report report = run_.snapshot();
  for (DirectionReport& direction : report.directions) direction.shows_delays = true;
  const config::ImpairProfile profile = run_.profile();
  Verdict verdict = verdict_of(report);
  std::string text =
      report::text_of(verdict) + rules_text(profile) + events_text(profile) + to_text(report);
  return {.rules = rule_rows(profile),
          .events = event_rows(profile.events),
          .events_on_command = event_rows(profile.events_on_command),
          .scenario = act_rows(profile),
          .report = std::move(report),
          .verdict = std::move(verdict),
          .text = std::move(text)};
}

}  // namespace lw::impair

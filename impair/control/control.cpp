// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/control.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impair/report/rule_report.h"
#include "report/json_line.h"

namespace lw::impair {
namespace {

using report::Json;

/// A text, or a number or truth value as it would be written in a profile.
std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Result<std::vector<profile::Edit>> edits_of(const Json& request) {
  const auto rule = request.find("rule");
  const auto keys = request.find("keys");
  if (rule == request.end() || !rule->is_string() || keys == request.end() || !keys->is_object() ||
      keys->empty())
    return fail("set: expected a \"rule\" and its \"keys\"");
  std::vector<profile::Edit> edits;
  for (const auto& [key, value] : keys->items())
    edits.push_back({"rule", rule->get<std::string>(), key, value_text(value)});
  return edits;
}

Json refusal(const Error& error) {
  return {{"ok", false}, {"error", error.message}, {"exit", to_int(error.exit)}};
}

}  // namespace

std::string Control::answer(std::string_view request) {
  const Json json = Json::parse(request, nullptr, false);
  if (!json.is_object()) return report::json_line(refusal({"expected a JSON object"}));
  auto done = act(json);
  if (!done) return report::json_line(refusal(done.error()));
  return report::json_line(*done);
}

Result<Json> Control::act(const Json& request) {
  const std::string what = request.value("do", Json()).is_string() ? request["do"] : Json("");
  if (what == "show") return show();
  if (what == "reset") return change(live_.unedited());
  if (what == "load") {
    const auto file = request.find("file");
    if (file == request.end() || !file->is_string()) return fail("load: expected a \"file\"");
    return change(live_.loaded(file->get<std::string>()));
  }
  if (what == "set") {
    const auto edits = edits_of(request);
    if (!edits) return std::unexpected(edits.error());
    return change(live_.with(*edits));
  }
  return fail(fmt::format("expected \"do\": show, set, load or reset, found \"{}\"", what));
}

Result<Json> Control::change(Result<LiveProfile::Version> next) {
  if (!next) return std::unexpected(next.error());
  if (auto applied = apply_(next->profile); !applied) return std::unexpected(applied.error());
  live_.keep(std::move(*next));
  return Json{{"ok", true}, {"rules", rules_json(live_.now().profile)}};
}

Json Control::show() const {
  const Report report = snapshot_();
  return {{"ok", true},
          {"rules", rules_json(live_.now().profile)},
          {"report", to_json(report)},
          {"text", to_text(report)}};
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "impair/cli/command.h"
#include "impair/control/request_client.h"

namespace lw::impair {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket, rule, file, event;
  std::vector<std::string> changes;
  bool json = false;
  Json request;
};

/// "loss=0.1%": what stands behind the first `=` is the value; nothing there takes the key away.
Json keys_of(const std::vector<std::string>& changes) {
  Json keys = Json::object();
  for (const auto& change : changes) {
    const auto equals = change.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw CLI::ValidationError(fmt::format("expected KEY=VALUE, found {}", change));
    keys[change.substr(0, equals)] = change.substr(equals + 1);
  }
  return keys;
}

/// A name, or a JSON object: {"flap": {...}}; without a kind it is an event.
Json fired(const std::string& what) {
  Json asked = {{"do", "event"}};
  if (!what.starts_with('{')) {
    asked["name"] = what;
    return asked;
  }
  const Json typed = Json::parse(what, nullptr, false);
  if (!typed.is_object())
    throw CLI::ValidationError(fmt::format("expected a name or a JSON object, found {}", what));
  for (const char* kind : {"at", "protection", "flap", "event"})
    if (typed.size() == 1 && typed.contains(kind)) return asked.update(typed), asked;
  asked["event"] = typed;
  return asked;
}

void print(const Json& answer, const Options& options) {
  if (options.json) {
    fmt::print("{}\n", answer.dump());
  } else if (!options.event.empty()) {
    // It is put in force between two bursts, or within a millisecond; the answer doesn't wait.
    fmt::print("on its way: `show` counts the scenario's steps\n");
  } else if (answer.contains("text")) {
    fmt::print("{}", answer["text"].get<std::string>());
  } else {
    fmt::print("in force: {}\n", answer["rules"].dump());
  }
}

ExitCode ask(const Options& options) {
  const auto text = request(options.socket, options.request.dump() + "\n");
  if (!text) return print_error(text.error());
  const Json answer = Json::parse(*text, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok"))
    return print_error(
        {fmt::format("{}: not a roce-impair's socket", options.socket), ExitCode::environment});
  if (!answer["ok"].get<bool>())
    return print_error({answer.value("error", ""), ExitCode{answer.value("exit", 1)}});
  print(answer, options);
  return ExitCode::done;
}

/// One thing to ask: `prepare` makes the request of what was typed.
template <class Prepare>
CLI::App* add_question(CLI::App& ctl, const char* name, const char* help,
                       const std::shared_ptr<Options>& options, Command& chosen, Prepare prepare) {
  CLI::App* command = ctl.add_subcommand(name, help);
  command->fallthrough();  // --json may stand behind it, too
  command->callback([options, &chosen, prepare] {
    options->request = prepare(*options);
    chosen = [options] { return ask(*options); };
  });
  return command;
}

}  // namespace

void add_ctl_command(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* ctl = program.add_subcommand("ctl", "Ask a run that has --control, or change it");
  ctl->add_option("SOCKET", options->socket, "what `run --control` was given")->required();
  ctl->add_flag("--json", options->json, "the answer as one JSON object on standard output");
  ctl->require_subcommand(1);
  add_question(*ctl, "show", "the report so far", options, chosen,
               [](const Options&) { return Json{{"do", "show"}}; });
  CLI::App* set = add_question(
      *ctl, "set", "change keys of a rule: set \"long haul\" loss=1%", options, chosen,
      [](const Options& typed) {
        return Json{{"do", "set"}, {"rule", typed.rule}, {"keys", keys_of(typed.changes)}};
      });
  set->add_option("RULE", options->rule, "its name")->required();
  set->add_option("KEY=VALUE", options->changes, "as in the profile; KEY= takes it away")
      ->required();
  CLI::App* load = add_question(*ctl, "load", "put another profile in force", options, chosen,
                                [](const Options& typed) {
                                  // The run may stand in another folder.
                                  const auto file = std::filesystem::absolute(typed.file);
                                  return Json{{"do", "load"}, {"file", file.string()}};
                                });
  load->add_option("PROFILE", options->file, "TOML file")->required();
  CLI::App* event = add_question(*ctl, "event", "let something happen now", options, chosen,
                                 [](const Options& typed) { return fired(typed.event); });
  event
      ->add_option("NAME|{...}", options->event,
                   "of an [[at]], a [[protection]], a [[flap]] or an [[event]] of the profile; or "
                   "one as JSON, {\"flap\": {\"port\": \"west\", \"down\": \"1s\"}}")
      ->required();
  add_question(*ctl, "reset", "undo what `set` changed", options, chosen,
               [](const Options&) { return Json{{"do", "reset"}}; });
}

}  // namespace lw::impair

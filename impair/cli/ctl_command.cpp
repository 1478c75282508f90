// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sys/socket.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/rotation_options.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "core/json.h"
#include "core/output.h"
#include "core/printable.h"
#include "core/quantity.h"
#include "impair/cli/commands.h"
#include "impair/control/answer.h"
#include "net/limits.h"
#include "net/socket.h"
#include "nic/clock.h"
#include "report/figures/read_json.h"
#include "report/json_line.h"

namespace lw::impair {
namespace {

using Json = nlohmann::ordered_json;

struct RequestOptions {
  std::string socket, rule, file, event;
  std::uint32_t bytes = 0;
  Rotation rotation = {};
  std::vector<std::string> changes;
  bool json = false;
  Json request;
};

/// Returns the keys and values of KEY=VALUE. An empty value removes the key.
Result<Json> keys_of(const std::vector<std::string>& changes) {
  Json keys = Json::object();
  for (const auto& change : changes) {
    const auto assignment = config::parse_assignment(change);
    if (!assignment) return fail(assignment.error());
    keys[assignment->key] = assignment->value;
  }
  return keys;
}

/// Returns the request for a name or a JSON object, such as {"flap": {...}}. An object without a
/// kind is an event.
Result<Json> fired(const std::string& what) {
  Json asked = {{"do", "event"}};
  if (!what.starts_with('{')) {
    asked["name"] = what;
    return asked;
  }
  const Json typed = parse_json(what);
  if (!typed.is_object())
    return fail(fmt::format("expected a name or a JSON object, found {}", what));
  for (const char* kind : {"at", "protection", "flap", "event"})
    if (typed.size() == 1 && typed.contains(kind)) {
      asked.update(typed);
      return asked;
    }
  asked["event"] = typed;
  return asked;
}

/// An answer whose head is as described.
struct AnswerRead {
  Json json;
  Answer answer;  // its head
};

void print(const AnswerRead& read, const RequestOptions& options) {
  if (options.json) {
    print_out(report::json_line(read.json));
  } else if (!options.event.empty()) {
    print_out("done: its steps that are due are in force; `show` counts those that follow\n");
  } else {
    print_out(visible(read.answer.text.value_or(""), LineEnds::kept));
  }
}

constexpr timeval kAnswerTimeout{.tv_sec = 30, .tv_usec = 0};

/// Sends a request. If the server stops reading it, it still sends an answer.
void send_request(const net::Socket& server, std::string_view text) {
  while (!text.empty()) {
    const auto sent = send(server.descriptor(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// Returns all that comes back before the server closes; of an answer that is too long, more than
/// the limit.
std::string read_answer(const net::Socket& server) {
  std::string answer;
  std::array<char, 4096> piece;
  for (ssize_t count; answer.size() <= net::kMostControlAnswer &&
                      (count = recv(server.descriptor(), piece.data(), piece.size(), 0)) > 0;)
    answer.append(piece.data(), static_cast<std::size_t>(count));
  return answer;
}

/// A run that is asked.
struct AskedRun {
  std::string path;
  net::Socket socket;
};

/// Connects to the Unix socket at `path`. Later operations wait at most 30 s. Errors: environment.
Result<AskedRun> connect_to_run(const std::string& path) {
  const auto address = net::SocketAddress::unix_path(path);
  if (!address) return std::unexpected(address.error());
  net::Socket server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The timeout also limits connect(), which waits while the server's queue of connections is full.
  for (const int timeout : {SO_SNDTIMEO, SO_RCVTIMEO})
    setsockopt(server.descriptor(), SOL_SOCKET, timeout, &kAnswerTimeout, sizeof kAnswerTimeout);
  if (connect(server.descriptor(), address->get(), address->size()) != 0)
    return fail(fmt::format("{}: {}; is a `roce-impair run --control {}` running?", path,
                            std::strerror(errno), path),
                ExitCode::environment);
  return AskedRun{path, std::move(server)};
}

/// Returns the sockets of a list, "a.sock,b.sock". A file whose name has a comma is one socket.
std::vector<std::string> sockets_of(const std::string& list) {
  std::error_code unknown;
  std::vector<std::string> paths;
  std::string_view rest = list;
  while (!std::filesystem::exists(rest, unknown) && rest.contains(',')) {
    paths.emplace_back(rest.substr(0, rest.find(',')));
    rest.remove_prefix(rest.find(',') + 1);
  }
  paths.emplace_back(rest);
  return paths;
}

Result<AnswerRead> answer_of(const AskedRun& server) {
  const std::string text = read_answer(server.socket);
  if (text.empty()) return fail(server.path + ": no answer", ExitCode::environment);
  if (text.size() > net::kMostControlAnswer)
    return fail(fmt::format("{}: expected an answer of {} bytes at most, found a longer one",
                            server.path, net::kMostControlAnswer),
                ExitCode::environment);
  AnswerRead read{.json = parse_json(text), .answer = {}};
  const auto fits = report::read_json(read.json, Answer::head(), &read.answer);
  if (fits) return read;
  return fail(fmt::format("{}: not a roce-impair's socket: {}", server.path, fits.error()),
              ExitCode::environment);
}

/// The answer of one run, or why there is none.
struct RunAnswer {
  std::string path;
  Result<AnswerRead> read;
};

/// Asks all runs. They are all connected before the first one gets the request. Error: one of them
/// cannot be reached; then none is asked.
Result<std::vector<RunAnswer>> ask_all(const std::vector<std::string>& paths, const Json& request) {
  std::vector<AskedRun> servers;
  for (const std::string& path : paths) {
    auto server = connect_to_run(path);
    if (!server) return std::unexpected(server.error());
    servers.push_back(std::move(*server));
  }
  const std::string text = request.dump() + "\n";
  for (const AskedRun& server : servers) send_request(server.socket, text);
  std::vector<RunAnswer> answers;
  for (const AskedRun& server : servers) answers.push_back({server.path, answer_of(server)});
  return answers;
}

Error refusal_of(const Answer& answer) {
  const auto exit = answer.exit.value_or(static_cast<unsigned>(to_int(ExitCode::failed)));
  return {answer.error, static_cast<ExitCode>(exit)};
}

/// Prints the refusals, with the sockets' names if there are several. Returns the exit code.
ExitCode print_refusals(const std::vector<RunAnswer>& answers) {
  ExitCode code = ExitCode::done;
  for (const auto& [path, read] : answers) {
    if (read && read->answer.ok) continue;
    Error error = read ? refusal_of(read->answer) : read.error();
    if (read && answers.size() > 1) error.message = fmt::format("{}: {}", path, error.message);
    code = std::max(code, print_error(error));
  }
  return code;
}

/// With several runs, a `set` that one of them would refuse changes none: all are asked for a
/// preview first.
ExitCode check_set(const std::vector<std::string>& paths, Json request) {
  if (paths.size() == 1 || request["do"] != "set") return ExitCode::done;
  request["do"] = "preview";
  const auto answers = ask_all(paths, request);
  return answers ? print_refusals(*answers) : print_error(answers.error());
}

/// The request with the instant at which the events and scenarios of several runs begin, by the
/// steady clock that they share: each has prepared its own by then.
Json with_common_begin(const std::vector<std::string>& paths, Json request) {
  constexpr Duration kToPrepare = std::chrono::seconds(1);
  if (paths.size() > 1 && (request["do"] == "event" || request["do"] == "load"))
    request["begin_ns"] = to_ns(nic::now() + kToPrepare);
  return request;
}

ExitCode ask(const RequestOptions& options) {
  const auto paths = sockets_of(options.socket);
  if (const ExitCode refused = check_set(paths, options.request); refused != ExitCode::done)
    return refused;
  const auto answers = ask_all(paths, with_common_begin(paths, options.request));
  if (!answers) return print_error(answers.error());
  for (const auto& [path, read] : *answers) {
    if (!read || !read->answer.ok) continue;
    if (answers->size() > 1 && !options.json) print_out(path + ":\n");
    print(*read, options);
  }
  return print_refusals(*answers);
}

/// Makes a subcommand. `prepare` makes its request from the options.
template <class Prepare>
app::Command question(const char* name, const char* help, const char* example,
                      const std::shared_ptr<RequestOptions>& options, Prepare prepare) {
  return {.name = name,
          .help = help,
          .examples = example,
          .check = [options, prepare](const app::Given&) -> Result<void> {
            auto request = prepare(*options);
            if (!request) return std::unexpected(request.error());
            options->request = std::move(*request);
            return {};
          },
          .run = [options] { return ask(*options); }};
}

/// Makes the subcommand `set` or `preview`.
app::Command edit_command(const char* name, const char* help, const char* example,
                          const std::shared_ptr<RequestOptions>& options) {
  app::Command command =
      question(name, help, example, options, [name](const RequestOptions& typed) -> Result<Json> {
        const auto keys = keys_of(typed.changes);
        if (!keys) return keys;
        return Json{{"do", name}, {"rule", typed.rule}, {"keys", *keys}};
      });
  command.options.add("RULE", app::text(options->rule), "", "name of the rule").required();
  command.options
      .add("KEY=VALUE", app::texts(options->changes), "",
           "key and value as in the profile; KEY= removes the key")
      .required();
  return command;
}

app::Command load_command(const std::shared_ptr<RequestOptions>& options) {
  app::Command command = question(
      "load", "put another profile in force", "roce-impair ctl /tmp/impair.sock load apn-380km",
      options, [](const RequestOptions& typed) -> Result<Json> {
        // The run may have another working directory.
        const auto found =
            config::find_profile(typed.file, {config::kImpairProfiles, config::kPathProfiles});
        if (!found) return std::unexpected(found.error());
        const auto file = std::filesystem::absolute(*found);
        return Json{{"do", "load"}, {"file", file.string()}};
      });
  command.options
      .add("PROFILE", app::profile(options->file, {config::kImpairProfiles, config::kPathProfiles}),
           "", "impair profile")
      .required();
  return command;
}

app::Command record_command(const std::shared_ptr<RequestOptions>& options) {
  app::Command command = question(
      "record", "record the frames of both sides to a new file from now on",
      "roce-impair ctl /tmp/impair.sock record episode.pcapng --bytes 128", options,
      [](const RequestOptions& typed) -> Result<Json> {
        // The run may have another working directory.
        Json asked = {{"do", "record"}, {"file", std::filesystem::absolute(typed.file).string()}};
        if (typed.bytes > 0) asked["bytes"] = typed.bytes;
        if (typed.rotation.size > 0) asked["rotate"] = typed.rotation.size;
        if (typed.rotation.files > 0) asked["ring"] = typed.rotation.files;
        return asked;
      });
  command.options
      .add("FILE.pcapng", app::text(options->file), "", "file to write, which must not exist")
      .required();
  command.options
      .add("--bytes", app::parsed(parse_bytes, options->bytes), "SIZE",
           "bytes of each frame in the recording: 128, 1KiB")
      .defaults_to("all");
  app::add_rotation_options(command.options, options->rotation, "FILE");
  return command;
}

app::Command event_command(const std::shared_ptr<RequestOptions>& options) {
  app::Command command = question("event", "trigger an event now",
                                  "roce-impair ctl /tmp/impair.sock event \"cut again\"", options,
                                  [](const RequestOptions& typed) { return fired(typed.event); });
  command.options
      .add("NAME|{...}", app::text(options->event), "",
           "name of an [[at]], a [[protection]], a [[flap]] or an [[event]] of the profile; or one "
           "as JSON, {\"flap\": {\"port\": \"west\", \"down\": \"1s\"}}")
      .required();
  return command;
}

}  // namespace

app::Command ctl_command() {
  auto options = std::make_shared<RequestOptions>();
  const auto plain = [&options](const char* name, const char* help, const char* example) {
    return question(name, help, example, options,
                    [name](const RequestOptions&) -> Result<Json> { return Json{{"do", name}}; });
  };
  app::Command command{
      .name = "ctl",
      .help = "Query or change a run that has --control",
      .examples = R"(roce-impair ctl /tmp/impair.sock show
roce-impair ctl /tmp/impair.sock set "long haul" delay=1ms loss=0.5%
roce-impair ctl a.sock,b.sock load apn-380km
roce-impair ctl /tmp/impair.sock event "cut again")",
      .commands = {plain("show", "print the rules in force and the report so far",
                         "roce-impair ctl /tmp/impair.sock show --json"),
                   plain("records", "print the newest records of the ledger",
                         "roce-impair ctl /tmp/impair.sock records"),
                   edit_command(
                       "set", "change keys of a rule",
                       "roce-impair ctl /tmp/impair.sock set \"long haul\" delay=1ms loss=0.5%",
                       options),
                   edit_command(
                       "preview", "print what a set would put in force, and change nothing",
                       "roce-impair ctl /tmp/impair.sock preview \"long haul\" delay=3ms", options),
                   load_command(options), event_command(options), record_command(options),
                   plain("stop-recording", "end the recording and close its file",
                         "roce-impair ctl /tmp/impair.sock stop-recording"),
                   plain("reset", "undo the changes of `set`",
                         "roce-impair ctl /tmp/impair.sock reset"),
                   plain("undo", "undo the last set, load or reset",
                         "roce-impair ctl /tmp/impair.sock undo")},
  };
  command.options
      .add("SOCKET", app::text(options->socket), "",
           "socket that `run --control` was given; several with commas between them")
      .required();
  command.options.add_flag("--json", options->json,
                           "print the answer as one JSON object; of several sockets, one a line");
  return command;
}

}  // namespace lw::impair

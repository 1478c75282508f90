// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/stop_signal.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/outputs.h"
#include "gen/otg/engine_process.h"
#include "gen/otg/requests.h"
#include "gen/otg/server.h"
#include "nic/idle.h"
#include "report/figures/json.h"
#include "web/server.h"
#include "web/site.h"

namespace lw::gen {
namespace {

constexpr const char* kOtgExamples = R"(roce-gen otg --listen 8443
roce-gen otg --listen 127.0.0.1:8443 --token-file token.txt
roce-gen otg --fields  # which fields of the model are applied, and how)";

constexpr const char* kOtgNotes =
    R"(Serves the Open Traffic Generator API, version 1.61.0 of the model, over HTTP, in JSON or YAML;
prints "serving http://..." on stderr. A port's `location` is PORT of other commands; ",rate=10Gb/s"
after it is its line rate. A client of Python: snappi.api(location="http://127.0.0.1:8443").)";

struct OtgOptions {
  std::optional<std::string> listen, token_file;
  bool fields = false, json = false;
};

/// A field of the model, and what becomes of it.
struct FieldRow {
  std::string_view message, field, type, bounds, standard, use, meaning;
  static const FigureTable& figures();
};

constexpr std::string_view kUses[] = {"applied", "constant", "refused"};

std::string type_of(const otg::Field& field) {
  static constexpr std::string_view kTypes[] = {"boolean", "integer", "number", "string",
                                                "string",  "hex",     "ipv4",   "ipv6",
                                                "mac",     "object",  ""};
  const std::string_view type = field.message != nullptr
                                    ? field.message().name
                                    : kTypes[static_cast<std::size_t>(field.type)];
  return fmt::format("{}{}", field.list ? "list of " : "", type);
}

std::string bounds_of(const otg::Field& field) {
  if (!field.values.empty()) return fmt::format("{}", fmt::join(field.values, " "));
  if (field.least > field.most) return "";
  return fmt::format("{} to {}{}", field.least, field.most,
                     field.type == otg::Field::Type::hex ? " digits" : "");
}

void print_fields(bool json) {
  std::string text;
  for (const otg::ModelMessage* message : otg::all_messages()) {
    for (const otg::Field& field : message->fields) {
      const std::string type = type_of(field), bounds = bounds_of(field);
      const FieldRow row{message->name,
                         field.name,
                         type,
                         bounds,
                         field.required ? "required" : field.fallback,
                         kUses[static_cast<std::size_t>(field.use)],
                         field.meaning};
      text += json ? report::json_line(kOtgFieldsOutput, row)
                   : fmt::format("{:<28} {:<30} {:<9} {}\n", row.message, row.field, row.use,
                                 row.meaning);
    }
  }
  print_report(text);
}

ExitCode serve(const OtgOptions& options) {
  auto folder = otg::PrivateFolder::create();
  if (!folder) return print_error(folder.error());
  auto engine = otg::EngineProcess::start(folder->path());
  if (!engine) return print_error(engine.error());
  auto site = web::open_program_site(*options.listen, options.token_file);
  if (!site) return print_error(site.error());
  const std::atomic<bool>& stop = stop_on_signals();
  const std::string url = "http://" + site->address.text();
  {
    constexpr std::size_t kThreads = 4;  // one request may wait for outstanding messages
    otg::OtgServer server(*engine, LONGWIRE_VERSION);
    const web::Server listener(std::move(*site), server.routes(), kThreads,
                               otg::OtgServer::policy());
    fmt::print(stderr, "serving {}\n", url);
    while (!stop.load(std::memory_order_relaxed)) nic::wait_towards(nic::kLongestSleep);
  }
  engine->clear();
  return ExitCode::done;
}

Result<void> check_usage(const OtgOptions& options) {
  if (options.fields == options.listen.has_value())
    return fail("expected --listen [ADDRESS:]PORT, or --fields");
  if (options.json && !options.fields) return fail("--json goes with --fields");
  return {};
}

}  // namespace

const FigureTable& FieldRow::figures() {
  using Row = FigureOf<FieldRow>;
  static constexpr Figure kRows[] = {
      Row::of<&FieldRow::message>("message", "Message of the model."),
      Row::of<&FieldRow::field>("field", "Its field."),
      Row::of<&FieldRow::type>("type", "Type; of an object, its message.").if_any(),
      Row::of<&FieldRow::bounds>("bounds", "Least and most value, or all values.").if_any(),
      Row::of<&FieldRow::standard>("default", "Value of an absent field, or \"required\".")
          .if_any(),
      Row::of<&FieldRow::use>("use", "applied, constant: only the default is accepted, or refused.")
          .among(kUses),
      Row::of<&FieldRow::meaning>("meaning", "What it sets, or why it is not applied.")};
  static constexpr FigureTable kTable{"A field of the Open Traffic Generator model.", kRows};
  return kTable;
}

const FigureTable& otg_fields_figures() { return FieldRow::figures(); }

app::Command otg_command() {
  auto options = std::make_shared<OtgOptions>();
  app::Command command{
      .name = "otg",
      .help =
          "Serve the Open Traffic Generator API: RoCEv2 peers, QPs, flows of packets, and their "
          "metrics",
      .examples = kOtgExamples,
      .notes = kOtgNotes,
      .check = [options](const app::Given&) { return check_usage(*options); },
      .run =
          [options] {
            if (!options->fields) return serve(*options);
            print_fields(options->json);
            return ExitCode::done;
          },
  };
  app::Options& list = command.options;
  list.add("--listen", app::text(options->listen), "[ADDRESS:]PORT",
           "serve the API, at 127.0.0.1 unless an address is given");
  list.add("--token-file", app::text(options->token_file), "FILE",
           "file whose first line is the token of all requests, as Authorization: Bearer TOKEN; "
           "required for an address that other machines reach");
  list.add_flag("--fields", options->fields,
                "print the fields of the model, and what becomes of each");
  list.add_flag("--json", options->json, "print one line of JSON per field");
  return command;
}

}  // namespace lw::gen

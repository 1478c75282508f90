// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/server.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "core/json.h"
#include "core/output.h"
#include "gen/otg/engine.h"
#include "gen/otg/limits.h"
#include "gen/otg/requests.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;
using Kind = web::Route::Kind;

/// The bytes of a file; nothing if it is longer than a client gets, or cannot be read.
std::optional<std::string> bytes_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > kMostCapture) return std::nullopt;
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

web::HttpReply reply_of(const Answer& answer) {
  if (answer.file.empty())
    return {answer.status, "application/json", net::shared(answer.body.dump())};
  if (auto bytes = bytes_of(answer.file))
    return {answer.status, "application/octet-stream", net::shared(std::move(*bytes))};
  return reply_of(error_answer(
      kBadRequest, {fmt::format("port_name: there is no capture of this port, or it is longer than "
                                "{} bytes",
                                kMostCapture)}));
}

Answer version(const std::string& program) {
  return {
      .body = {{"api_spec_version", kModelVersion}, {"sdk_version", ""}, {"app_version", program}}};
}

Answer not_supported(std::string_view what) {
  return error_answer(
      kNotSupported,
      {fmt::format("{} is not supported: POST /config with the whole configuration", what)});
}

/// A request of which nothing is supported: its fields are refused by name.
Answer action(std::string_view body) {
  ModelReader reader;
  ControlAction request;
  reader.read(parse_json(body), ControlAction::message(), &request);
  if (reader.problems().empty()) reader.refuse("choice", "expected an action, found nothing");
  return error_answer(kBadRequest, reader.problems());
}

}  // namespace

web::Policy OtgServer::policy() {
  return {.most_body = kMostBody, .refusal = [](int status, const std::string& reason) {
            return error_answer(status, {reason}).body.dump();
          }};
}

web::Route OtgServer::route(const char* path, Kind kind,
                            std::function<Answer(std::string_view body)> answer) {
  return {.path = path,
          .guard = web::Guard::program,
          .kind = kind,
          .type = "application/json",
          .answer = {},
          .reply = [answer = std::move(answer)](std::string_view body, const std::string&) {
            return reply_of(answer(body));
          }};
}

std::vector<web::Route> OtgServer::routes() {
  std::vector<web::Route> routes = {
      route("/config", Kind::post, [this](auto body) { return set_config(body); }),
      route("/config", Kind::get, [this](auto) { return config(); }),
      route("/config", Kind::patch, [](auto) { return not_supported("PATCH /config"); }),
      route("/config/append", Kind::patch,
            [](auto) { return not_supported("PATCH /config/append"); }),
      route("/config/delete", Kind::patch,
            [](auto) { return not_supported("PATCH /config/delete"); }),
      route("/control/action", Kind::post, [](auto body) { return action(body); }),
      route("/capabilities/version", Kind::get, [this](auto) { return version(version_); })};
  for (const char* path :
       {"/control/state", "/monitor/metrics", "/monitor/states", "/monitor/capture"})
    routes.push_back(route(path, Kind::post, [this, path](auto body) { return ask(path, body); }));
  return routes;
}

Answer OtgServer::config() const {
  const std::scoped_lock lock(mutex_);
  return {.body = config_};
}

Answer OtgServer::set_config(std::string_view body) {
  const Json json = parse_json(body);
  if (json.is_discarded()) return error_answer(kBadRequest, {"the body is not JSON"});
  ModelReader reader;
  const LabPlan plan = read_plan(json, reader);
  if (!reader.problems().empty()) return error_answer(kBadRequest, reader.problems());
  if (plan.ports.empty()) {
    engine_.clear();
    const std::scoped_lock lock(mutex_);
    config_ = json;
    return warning_answer(plan.warnings);
  }
  Answer answer = engine_.configure(json);
  const std::scoped_lock lock(mutex_);
  config_ = answer.status < kBadRequest ? json : Json::object();
  return answer;
}

Answer OtgServer::ask(const std::string& path, std::string_view body) {
  const Json json = parse_json(body);
  if (json.is_discarded()) return error_answer(kBadRequest, {"the body is not JSON"});
  return engine_.ask(path, json);
}

}  // namespace lw::gen::otg

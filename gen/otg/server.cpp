// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/server.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/otg/body.h"
#include "gen/otg/engine.h"
#include "gen/otg/limits.h"
#include "gen/otg/requests.h"
#include "gen/otg/yaml.h"

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

Answer not_supported() {
  return error_answer(kNotSupported,
                      {"PATCH /config is not supported: PATCH /config/delete and /config/append "
                       "replace flows while others run"});
}

/// The body of an edit as an object: a list is that of its field `list`.
Result<Json> edit_of(std::string_view body, const char* list) {
  auto json = read_body(body);
  if (!json || !json->is_array()) return json;
  return Json{{list, std::move(*json)}};
}

/// The flows of an edit that was accepted.
Json edited_flows(const Json& resources) {
  const auto flows = resources.find("flows");
  return flows == resources.end() || flows->is_null() ? Json::array() : *flows;
}

void erase_flow(Json& config, const Json& name) {
  Json& flows = config["flows"];
  for (std::size_t i = flows.size(); i-- > 0;)
    if (flows[i]["name"] == name) flows.erase(i);
}

/// A request of which nothing is supported: its fields are refused by name.
Answer action(std::string_view body) {
  const auto json = read_body(body);
  if (!json) return error_answer(json.error());
  ModelReader reader;
  ControlAction request;
  reader.read(*json, ControlAction::message(), &request);
  if (reader.problems().empty()) reader.refuse("choice", "expected an action, found nothing");
  return error_answer(kBadRequest, reader.problems());
}

}  // namespace

web::Policy OtgServer::policy() {
  std::vector<web::BodyType> yaml;
  for (const char* type : {"application/yaml", "application/x-yaml", "text/yaml"})
    yaml.push_back({type, json_of_yaml});
  return {.most_body = kMostBody,
          .more_types = std::move(yaml),
          .refusal = [](int status, const std::string& reason) {
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
      route("/config", Kind::patch, [](auto) { return not_supported(); }),
      route("/config/append", Kind::patch, [this](auto body) { return append(body); }),
      route("/config/delete", Kind::patch, [this](auto body) { return remove(body); }),
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
  const auto json = read_body(body);
  if (!json) return error_answer(json.error());
  ModelReader reader;
  const LabPlan plan = read_plan(*json, reader);
  if (!reader.problems().empty()) return error_answer(kBadRequest, reader.problems());
  if (plan.ports.empty()) {
    engine_.clear();
    const std::scoped_lock lock(mutex_);
    config_ = *json;
    return warning_answer(plan.warnings);
  }
  Answer answer = engine_.configure(*json);
  const std::scoped_lock lock(mutex_);
  config_ = answer.status < kBadRequest ? *json : Json::object();
  return answer;
}

Answer OtgServer::append(std::string_view body) {
  const auto request = edit_of(body, kAppendList);
  if (!request) return error_answer(request.error());
  const std::scoped_lock lock(mutex_);
  Answer answer = engine_.ask("/config/append", *request);
  if (answer.status < kBadRequest)
    for (const Json& resources : (*request)[kAppendList])
      for (const Json& flow : edited_flows(resources)) config_["flows"].push_back(flow);
  return answer;
}

Answer OtgServer::remove(std::string_view body) {
  const auto request = edit_of(body, kDeleteList);
  if (!request) return error_answer(request.error());
  const std::scoped_lock lock(mutex_);
  Answer answer = engine_.ask("/config/delete", *request);
  if (answer.status < kBadRequest)
    for (const Json& resources : (*request)[kDeleteList])
      for (const Json& name : edited_flows(resources)) erase_flow(config_, name);
  return answer;
}

Answer OtgServer::ask(const std::string& path, std::string_view body) {
  const auto json = read_body(body);
  return json ? engine_.ask(path, *json) : error_answer(json.error());
}

}  // namespace lw::gen::otg

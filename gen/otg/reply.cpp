// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/reply.h"

#include "core/json.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Answer error_answer(int status, const std::vector<std::string>& errors) {
  return {status,
          {{"code", status},
           {"kind", status < kInternal ? "validation" : "internal"},
           {"errors", errors}}};
}

Answer error_answer(const Error& error) {
  return error_answer(error.exit == ExitCode::usage ? kBadRequest : kInternal, {error.message});
}

Answer warning_answer(const std::vector<std::string>& warnings) {
  return {.body = {{"warnings", warnings}}};
}

std::string to_text(const Answer& answer) {
  return Json{{"status", answer.status}, {"body", answer.body}, {"file", answer.file}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Answer> read_answer(const std::string& text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return std::nullopt;
  const auto status = json.find("status"), body = json.find("body"), file = json.find("file");
  if (status == json.end() || !status->is_number_integer() || body == json.end() ||
      file == json.end() || !file->is_string())
    return std::nullopt;
  return Answer{status->get<int>(), *body, file->get<std::string>()};
}

}  // namespace lw::gen::otg

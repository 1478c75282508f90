// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/yaml.h"

#include <optional>
#include <sstream>
#include <vector>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/limits.h"
#include "core/names.h"
#include "gen/otg/limits.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;

/// The value of a scalar without quotes (YAML 1.2, 10.2, as far as JSON has the same form).
Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~") return nullptr;
  const Json json = parse_json(text);
  return json.is_null() || json.is_boolean() || json.is_number() ? json : Json(text);
}

/// Makes JSON of what the parser finds. Stops it by an exception of its own kind.
class JsonBuilder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { add(nullptr, mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "aliases are not supported: write the value again");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Json::array(), tag, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Json::object(), tag, mark);
  }
  void OnMapEnd() override { close(); }

  [[nodiscard]] const Json& json() const noexcept { return root_; }

 private:
  /// A list or an object that is not complete.
  struct Open {
    Json json;
    std::optional<std::string> key;  // of the next member
    YAML::Mark mark;
  };
  [[noreturn]] static void refuse(const YAML::Mark& mark, const std::string& why) {
    throw YAML::ParserException(mark, why);
  }
  void open(Json json, const std::string& tag, const YAML::Mark& mark);
  void close();
  void add(Json value, const YAML::Mark& mark);
  static void set_key(Open& object, const Json& value, const YAML::Mark& mark);

  std::vector<Open> open_;
  Json root_;
};

void JsonBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag,
                           YAML::anchor_t /*anchor*/, const std::string& value) {
  const bool plain = tag.empty() || tag == "?";
  if (!plain && tag != "!" && tag != "tag:yaml.org,2002:str")
    refuse(mark, fmt::format("the tag {} is not supported", excerpt(tag)));
  const bool is_key = !open_.empty() && open_.back().json.is_object() && !open_.back().key;
  add(plain && !is_key ? plain_scalar(value) : Json(value), mark);
}

void JsonBuilder::open(Json json, const std::string& tag, const YAML::Mark& mark) {
  if (!tag.empty() && tag != "?" && tag != "!")
    refuse(mark, fmt::format("the tag {} is not supported", excerpt(tag)));
  if (open_.size() >= kDeepestJson)
    refuse(mark, fmt::format("nested deeper than {} levels", kDeepestJson));
  open_.push_back({std::move(json), {}, mark});
}

void JsonBuilder::close() {
  Open done = std::move(open_.back());
  open_.pop_back();
  add(std::move(done.json), done.mark);
}

void JsonBuilder::set_key(Open& object, const Json& value, const YAML::Mark& mark) {
  if (!value.is_string()) refuse(mark, "expected a text as the key of a mapping");
  if (object.json.size() >= kMostMembers)
    refuse(mark, fmt::format("expected at most {} keys in a mapping", kMostMembers));
  const std::string& key = value.get_ref<const std::string&>();
  if (object.json.contains(key))
    refuse(mark, fmt::format("the key \"{}\" is there already", excerpt(key)));
  object.key = key;
}

void JsonBuilder::add(Json value, const YAML::Mark& mark) {
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Open& top = open_.back();
  if (top.json.is_array()) return top.json.push_back(std::move(value));
  if (!top.key) return set_key(top, value, mark);
  top.json[*top.key] = std::move(value);
  top.key.reset();
}

}  // namespace

Result<std::string> json_of_yaml(std::string_view text) {
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    JsonBuilder builder, more;
    if (!parser.HandleNextDocument(builder))
      return fail("the body is not YAML: expected a document, found nothing");
    if (parser.HandleNextDocument(more))
      return fail("the body is not YAML: expected one document, found more");
    return builder.json().dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const YAML::Exception& error) {
    return fail(fmt::format("the body is not YAML: line {}, column {}: {}", error.mark.line + 1,
                            error.mark.column + 1, error.msg));
  }
}

}  // namespace lw::gen::otg

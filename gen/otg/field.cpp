// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/field.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/names.h"
#include "gen/otg/limits.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;
using Type = Field::Type;

constexpr int kHexBase = 16;

std::string within(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// The value of a text, as the field's type has it; nothing for another text.
std::optional<Value> value_of(const std::string& text, const Field& field) {
  const auto address = wire::parse_ip(text);
  switch (field.type) {
    case Type::text:
      return text;
    case Type::choice: {
      const auto found = std::ranges::find(field.values, text);
      if (found == field.values.end()) return std::nullopt;
      if (!field.indexed) return text;
      return static_cast<std::uint64_t>(found - field.values.begin());
    }
    case Type::hex: {
      Hex hex;
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), hex.value, kHexBase);
      const auto digits = static_cast<double>(text.size());
      if (error != std::errc{} || end != text.data() + text.size() || digits < field.least ||
          digits > field.most)
        return std::nullopt;
      return hex;
    }
    case Type::ipv4:
      if (address && std::holds_alternative<wire::Ipv4Address>(*address))
        return std::get<wire::Ipv4Address>(*address);
      return std::nullopt;
    case Type::ipv6:
      if (address && std::holds_alternative<wire::Ipv6Address>(*address))
        return std::get<wire::Ipv6Address>(*address);
      return std::nullopt;
    case Type::mac:
      if (const auto mac = wire::parse_mac(text)) return *mac;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The value of a number. JSON of other clients has whole numbers of 64 bits as texts, as protobuf
/// writes them.
std::optional<Value> number_of(const Json& json, const Field& field) {
  const bool bounded = field.least <= field.most;
  const auto inside = [&](double number) {
    return !bounded || (number >= field.least && number <= field.most);
  };
  if (field.type == Type::number) {
    if (!json.is_number() || !inside(json.get<double>())) return std::nullopt;
    return json.get<double>();
  }
  std::uint64_t whole = 0;
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  } else if (json.is_number_unsigned()) {
    whole = json.get<std::uint64_t>();
  } else {
    return std::nullopt;
  }
  return inside(static_cast<double>(whole)) ? std::optional<Value>(whole) : std::nullopt;
}

std::optional<Value> value_of(const Json& json, const Field& field) {
  if (field.type == Type::boolean)
    return json.is_boolean() ? std::optional<Value>(json.get<bool>()) : std::nullopt;
  if (field.type == Type::integer || field.type == Type::number) return number_of(json, field);
  return json.is_string() ? value_of(json.get_ref<const std::string&>(), field) : std::nullopt;
}

/// Returns what a field expects, for an error message.
std::string expected(const Field& field) {
  switch (field.type) {
    case Type::boolean:
      return "true or false";
    case Type::integer:
    case Type::number: {
      const char* kind = field.type == Type::integer ? "a whole number" : "a number";
      if (field.least > field.most) return kind;
      return fmt::format("{} from {} to {}", kind, field.least, field.most);
    }
    case Type::text:
      return "a text";
    case Type::choice:
      return fmt::format("one of {}", fmt::join(field.values, ", "));
    case Type::hex:
      return fmt::format("{} to {} hexadecimal digits", field.least, field.most);
    case Type::ipv4:
      return "an IPv4 address";
    case Type::ipv6:
      return "an IPv6 address";
    case Type::mac:
      return "a MAC address";
    case Type::object:
      return "an object";
    case Type::any:
      return "nothing";
  }
  return "";
}

std::string found(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  return excerpt(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string unknown_field(std::string_view name, const ModelMessage& message) {
  std::vector<std::string_view> names;
  for (const Field& field : message.fields) names.push_back(field.name);
  const std::string_view near = nearest(name, names);
  return near.empty() ? fmt::format("{} has no such field", message.name)
                      : fmt::format("{} has no such field: is it `{}`?", message.name, near);
}

const Field* field_of(const ModelMessage& message, std::string_view name) {
  const auto field = std::ranges::find(message.fields, name, &Field::name);
  return field == message.fields.end() ? nullptr : &*field;
}

}  // namespace

void ModelReader::refuse(const std::string& path, const std::string& why) {
  if (problems_.size() < kMostProblems)
    problems_.push_back(bounded_message(fmt::format("{}: {}", path.empty() ? "/" : path, why)));
}

void ModelReader::read(const Json& json, const ModelMessage& message, void* object,
                       const std::string& path) {
  if (!json.is_object())
    return refuse(path, fmt::format("expected an object, found {}", found(json)));
  if (message.place != nullptr) message.place(object, path);
  for (const auto& [name, value] : json.items())
    if (field_of(message, name) == nullptr)
      refuse(within(path, excerpt(name)), unknown_field(name, message));
  for (const Field& field : message.fields) {
    const auto given = json.find(field.name);
    if (given != json.end() && !given->is_null())
      read_field(*given, field, object, within(path, field.name));
    else if (field.required)
      refuse(within(path, field.name),
             fmt::format("expected {}, found nothing", field.list ? "a list" : expected(field)));
    else
      set_standard(field, object);
  }
  check_choice(json, message, object, path);
}

void ModelReader::read_field(const Json& json, const Field& field, void* object,
                             const std::string& path) {
  if (field.use == Field::Use::refused)
    return refuse(path, fmt::format("is not supported: {}", field.meaning));
  if (field.use == Field::Use::constant) {
    const bool same =
        json.is_string() ? json == field.fallback : json == parse_json(field.fallback);
    if (!same) refuse(path, fmt::format("only {} is supported: {}", field.fallback, field.meaning));
    return;
  }
  if (field.list) return read_list(json, field, object, path);
  read_value(json, field, object, path);
}

void ModelReader::read_list(const Json& json, const Field& field, void* object,
                            const std::string& path) {
  if (!json.is_array() || json.size() > kMostItems)
    return refuse(path, fmt::format("expected a list of at most {} elements, found {}", kMostItems,
                                    json.is_array() ? std::to_string(json.size()) : found(json)));
  for (std::size_t i = 0; i < json.size(); ++i)
    read_value(json[i], field, object, fmt::format("{}[{}]", path, i));
}

void ModelReader::read_value(const Json& json, const Field& field, void* object,
                             const std::string& path) {
  if (field.type == Type::object) return read(json, field.message(), field.open(object), path);
  auto value = value_of(json, field);
  if (!value)
    return refuse(path, fmt::format("expected {}, found {}", expected(field), found(json)));
  field.set(object, std::move(*value));
}

void ModelReader::set_standards(const ModelMessage& message, void* object) {
  for (const Field& field : message.fields) set_standard(field, object);
}

void ModelReader::set_standard(const Field& field, void* object) {
  if (field.always) return set_standards(field.message(), field.open(object));
  if (field.fallback.empty() || field.set == nullptr) return;
  const bool as_json =
      field.type == Type::boolean || field.type == Type::integer || field.type == Type::number;
  auto value = as_json ? value_of(parse_json(field.fallback), field)
                       : value_of(std::string(field.fallback), field);
  if (value) field.set(object, std::move(*value));
}

/// A choice names the one alternative that may be there.
void ModelReader::check_choice(const Json& json, const ModelMessage& message, void* object,
                               const std::string& path) {
  const Field* choice = field_of(message, "choice");
  if (choice == nullptr) return;
  std::vector<std::string> there;
  for (const std::string_view name : choice->values) {
    const auto given = json.find(name);
    if (given != json.end() && !given->is_null()) there.emplace_back(name);
  }
  const auto given = json.find("choice");
  const auto* chosen = given == json.end() ? nullptr : given->get_ptr<const std::string*>();
  if (chosen == nullptr && there.size() == 1) {
    if (auto value = value_of(there.front(), *choice)) choice->set(object, std::move(*value));
    return;
  }
  for (const std::string& name : there)
    if (chosen == nullptr || name != *chosen)
      refuse(within(path, name),
             fmt::format("is not the alternative that `choice` names{}",
                         chosen == nullptr ? "" : fmt::format(", `{}`", excerpt(*chosen))));
}

}  // namespace lw::gen::otg

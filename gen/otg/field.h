// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "wire/address.h"

/// The Open Traffic Generator model as rows. A message of the model is a plain struct with one row
/// for each of the model's fields:
///
///   struct Priority {
///     std::uint64_t value = 0;
///     static const ModelMessage& message();
///   };
///
///   const ModelMessage& Priority::message() {
///     using Row = ModelRowOf<Priority>;
///     static constexpr Field kRows[] = {
///         Row::of<&Priority::value>("value", "DSCP of the packets").from(0, 63).standard("48")};
///     static constexpr ModelMessage kMessage{"Rocev2.PriorityValue", kRows};
///     return kMessage;
///   }
///
/// ModelReader fills structs from JSON by the rows and refuses all else; the manual's table is made
/// from the rows. A new field of the model is one row.
namespace lw::gen::otg {

struct ModelMessage;

/// Digits in hexadecimal, up to 16, as a number.
struct Hex {
  std::uint64_t value = 0;
};

/// A value of JSON that is neither an object nor a list, in the type of its field.
using Value = std::variant<bool, std::uint64_t, double, std::string, Hex, wire::Ipv4Address,
                           wire::Ipv6Address, wire::MacAddress>;

/// A row: one field of a message. Made by ModelRowOf.
struct Field {
  enum class Type : std::uint8_t {
    boolean,
    integer,
    number,
    text,
    choice,  // one of `values`; set() gets its index
    hex,
    ipv4,
    ipv6,
    mac,
    object,
    any,  // of a field that is refused
  };
  enum class Use : std::uint8_t {
    applied,   // `meaning` says what it sets
    constant,  // only the default is accepted; `meaning` says why
    refused,   // `meaning` says why
  };

  std::string_view name;
  std::string_view meaning;
  Type type = Type::any;
  Use use = Use::applied;
  bool list = false;  // of values of the type
  bool required = false;
  bool indexed = false;         // set() takes the index of one of `values`
  double least = 0, most = -1;  // of a number, or digits of hex; none if most < least
  // The value where the field is absent, as JSON, a text without quotes; empty: none. Of a list:
  // its only element.
  std::string_view fallback = {};
  std::span<const std::string_view> values = {};
  const ModelMessage& (*message)() = nullptr;  // of an object
  /// Sets the member, or adds an element to the list.
  void (*set)(void* object, Value value) = nullptr;
  /// Creates the member, or one more element of the list, and returns it.
  void* (*open)(void* object) = nullptr;
  bool always = false;  // the object is there, with its standard values, if the field is absent

  [[nodiscard]] constexpr Field from(double low, double high) const {
    Field row = *this;
    row.least = low;
    row.most = high;
    return row;
  }
  /// The value where the field is absent, as the model has it: "48", "true", "ect_1".
  [[nodiscard]] constexpr Field standard(std::string_view value) const {
    Field row = *this;
    row.fallback = value;
    return row;
  }
  [[nodiscard]] constexpr Field needed() const {
    Field row = *this;
    row.required = true;
    return row;
  }
  /// All values of a text, or of the elements of a list; of an enumeration in its order from 0 on.
  [[nodiscard]] constexpr Field among(std::span<const std::string_view> names) const {
    Field row = *this;
    row.values = names;
    if (row.type == Type::text) row.type = Type::choice;
    return row;
  }
};

/// All fields of a message, by the model's name: "Rocev2.QPParameters".
struct ModelMessage {
  std::string_view name;
  std::span<const Field> fields;
  /// Tells the struct where it is in the JSON, for messages about it; null: it has no `path`.
  void (*place)(void* object, const std::string& path) = nullptr;
};

namespace field_detail {

template <class T>
concept IsMessage = requires { T::message(); };

/// The type of a member's values: of an optional, and of a list, that of its elements.
template <class T>
struct Inner {
  using Type = T;
  static constexpr bool kIsList = false, kIsAlways = true;
  static T& open(T& member) { return member; }
};
template <class T>
struct Inner<std::optional<T>> {
  using Type = T;
  static constexpr bool kIsList = false, kIsAlways = false;
  static T& open(std::optional<T>& member) { return member.emplace(); }
};
template <class T>
struct Inner<std::vector<T>> {
  using Type = T;
  static constexpr bool kIsList = true, kIsAlways = false;
  static T& open(std::vector<T>& member) { return member.emplace_back(); }
};

template <class T>
constexpr Field::Type type_of() {
  using enum Field::Type;
  if constexpr (std::is_same_v<T, bool>)
    return boolean;
  else if constexpr (std::is_enum_v<T>)
    return choice;
  else if constexpr (std::is_unsigned_v<T>)
    return integer;
  else if constexpr (std::is_same_v<T, double>)
    return number;
  else if constexpr (std::is_same_v<T, Hex>)
    return hex;
  else if constexpr (std::is_same_v<T, wire::Ipv4Address>)
    return ipv4;
  else if constexpr (std::is_same_v<T, wire::Ipv6Address>)
    return ipv6;
  else if constexpr (std::is_same_v<T, wire::MacAddress>)
    return mac;
  else
    return text;
}

template <class T>
T taken(Value& value) {
  if constexpr (std::is_enum_v<T> || (std::is_unsigned_v<T> && !std::is_same_v<T, bool>))
    return static_cast<T>(std::get<std::uint64_t>(value));
  else
    return std::get<T>(std::move(value));
}

}  // namespace field_detail

/// Makes the rows of a message that is `Object`.
template <class Object>
struct ModelRowOf {
  /// The row of a member: a bool, an unsigned number, a double, an enumeration (with among()), a
  /// std::string, a Hex, an address, a message; an optional or a list of these. `meaning`: what the
  /// field sets.
  template <auto member>
  static constexpr Field of(std::string_view name, std::string_view meaning) {
    using Member = std::remove_cvref_t<decltype(std::declval<Object&>().*member)>;
    using Inner = field_detail::Inner<Member>;
    using T = typename Inner::Type;
    if constexpr (field_detail::IsMessage<T>) {
      return with<member, &T::message>(name, meaning);
    } else {
      Field row{.name = name, .meaning = meaning, .list = Inner::kIsList};
      row.type = field_detail::type_of<T>();
      row.indexed = std::is_enum_v<T>;
      row.set = [](void* object, Value value) {
        Inner::open(static_cast<Object*>(object)->*member) = field_detail::taken<T>(value);
      };
      return row;
    }
  }
  /// The row of a member that is a message of which one struct has several.
  template <auto member, const ModelMessage& (*message)()>
  static constexpr Field with(std::string_view name, std::string_view meaning) {
    using Inner =
        field_detail::Inner<std::remove_cvref_t<decltype(std::declval<Object&>().*member)>>;
    return {.name = name,
            .meaning = meaning,
            .type = Field::Type::object,
            .list = Inner::kIsList,
            .message = message,
            .open = [](void* object) -> void* {
              return &Inner::open(static_cast<Object*>(object)->*member);
            },
            .always = Inner::kIsAlways};
  }
  /// The row of a field that is not supported. `reason`: a sentence without its full stop.
  static constexpr Field refused(std::string_view name, std::string_view reason) {
    return {.name = name, .meaning = reason, .use = Field::Use::refused};
  }
  /// The row of a field of which only one value is accepted: "false", "x8100".
  static constexpr Field only(std::string_view name, std::string_view value,
                              std::string_view reason) {
    return {.name = name, .meaning = reason, .use = Field::Use::constant, .fallback = value};
  }
};

/// Reads JSON into messages. Each field is applied by its row or refused: an unknown one, a value
/// of another type or beyond its bounds, an unsupported one. Nothing is ignored. Fields
/// whose value is null count as absent.
class ModelReader {
 public:
  /// Fills `object`, the struct of `message`, from `json`. An absent field gets its row's standard
  /// value. A choice that is absent is that of the one alternative that is there.
  void read(const nlohmann::ordered_json& json, const ModelMessage& message, void* object,
            const std::string& path = {});

  /// Sets the members of `object`, the struct of `message`, to their rows' standard values.
  static void set_standards(const ModelMessage& message, void* object);

  /// What was refused, each as "PATH: expected ..., found ...": kMostProblems at most.
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }
  /// Adds a problem of the field at `path`.
  void refuse(const std::string& path, const std::string& why);

 private:
  void read_field(const nlohmann::ordered_json& json, const Field& field, void* object,
                  const std::string& path);
  void read_list(const nlohmann::ordered_json& json, const Field& field, void* object,
                 const std::string& path);
  void read_value(const nlohmann::ordered_json& json, const Field& field, void* object,
                  const std::string& path);
  static void set_standard(const Field& field, void* object);
  void check_choice(const nlohmann::ordered_json& json, const ModelMessage& message, void* object,
                    const std::string& path);

  std::vector<std::string> problems_;
};

}  // namespace lw::gen::otg

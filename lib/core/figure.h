// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// A result is a plain struct with one table of its figures. All outputs are made from the table:
///
///   struct Amount {
///     std::uint64_t frames = 0, bytes = 0;
///     static const FigureTable& figures();
///   };
///
///   const FigureTable& Amount::figures() {
///     using Row = FigureOf<Amount>;
///     static constexpr Figure kRows[] = {
///         Row::of<&Amount::frames>("frames", "Number of frames.", Unit::frames),
///         Row::of<&Amount::bytes>("bytes", "Their bytes, without FCS.", Unit::bytes)};
///     static constexpr FigureTable kTable{"Frames and their bytes.", kRows};
///     return kTable;
///   }
///
/// The outputs are in lib/report/figures: JSON, JSON Schema, Prometheus text.
///
/// A setting is a member that people give a value, too: from() says its bounds. Sources of values
/// are made from such rows: options in lib/app/setting_options.h, keys of a profile in
/// lib/config/toml/settings.h; core/setting.h reads one value.
namespace lw {

/// The unit of a figure's value.
enum class Unit : std::uint8_t {
  none,
  frames,
  bytes,
  ns,
  us,
  s,
  bits_per_second,
  mbps,
  gbps,
  percent
};

struct FigureTable;

/// A value that is neither a struct nor a list.
using FigureValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

/// An object of JSON that is text already, such as a record of a ledger.
struct JsonText {
  std::string text;
};

/// Receives the value of a figure. The values of a list or map come between begin_ and end().
class FigureSink {
 public:
  virtual void value(const FigureValue& value) = 0;
  /// `object` points to the struct of the table, during the call.
  virtual void object(const FigureTable& table, const void* object) = 0;
  virtual void json(std::string_view object) = 0;
  virtual void begin_list() = 0;
  virtual void begin_map() = 0;
  /// The name of the next value of a map.
  virtual void key(std::string_view name) = 0;
  virtual void end() = 0;

 protected:
  ~FigureSink() = default;
};

/// A whole number or a text.
using FieldValue = std::variant<std::uint64_t, std::string_view>;

/// The type of a figure, whatever its value is.
struct FigureType {
  /// `field`: a whole number or a text, of a header's field; `figure`: a number or truth value, as
  /// a FigureValue.
  enum class Shape : std::uint8_t {
    truth,
    integer,
    natural,
    number,
    text,
    field,
    figure,
    object,
    json,
    list,
    map
  };
  Shape shape{};
  const FigureTable& (*table)() = nullptr;  // of an object
  const FigureType* element = nullptr;      // of a list or map
  std::size_t length = 0;                   // of a list of fixed length; 0: of any length
};

/// A row of a table: one figure of a struct. Made by FigureOf::of().
struct Figure {
  /// Whether an output has the figure where it is empty: an optional without value, a count of 0,
  /// a text or list of length 0.
  enum class Empty : std::uint8_t { shown, left_out, null };

  std::string_view name;  // key in JSON; empty: the rows of its struct stand in its place
  std::string_view meaning;
  Unit unit{};
  Empty empty{};
  bool gauge = false;                              // may fall, in Prometheus; false: a counter
  std::span<const std::string_view> choices = {};  // all values of a text; none: any text
  std::string_view label = {};     // of Prometheus, for the names within a struct or map
  std::string_view old_name = {};  // JSON has the value under it, too, for one release
  const FigureType* type = nullptr;
  bool (*is_empty)(const void* object) = nullptr;
  void (*read)(const void* object, FigureSink& sink) = nullptr;
  /// Sets the member: a bool, an unsigned number or a double, as `type` says; the index of one of
  /// `choices` as an unsigned number. Null: the value is computed.
  void (*write)(void* object, const FigureValue& value) = nullptr;
  /// Bounds of a setting, in its unit; no setting if most < least.
  double least = 0, most = -1;

  [[nodiscard]] constexpr bool is_setting() const { return least <= most; }
  /// The row of a setting, whose number is from `low` to `high`.
  [[nodiscard]] constexpr Figure from(double low, double high) const {
    Figure row = *this;
    row.least = low;
    row.most = high;
    return row;
  }
  /// The row of a setting that is true or false, or one of some names: those of an enumeration, in
  /// its order from 0 on.
  [[nodiscard]] constexpr Figure set_to(std::span<const std::string_view> names = {}) const {
    Figure row = from(0, 0);
    row.choices = names;
    return row;
  }
  [[nodiscard]] constexpr Figure if_any() const { return with(Empty::left_out); }
  [[nodiscard]] constexpr Figure or_null() const { return with(Empty::null); }
  [[nodiscard]] constexpr Figure as_gauge() const {
    Figure row = *this;
    row.gauge = true;
    return row;
  }
  [[nodiscard]] constexpr Figure among(std::span<const std::string_view> values) const {
    Figure row = *this;
    row.choices = values;
    return row;
  }
  [[nodiscard]] constexpr Figure renamed_from(std::string_view name_before) const {
    Figure row = *this;
    row.old_name = name_before;
    return row;
  }
  [[nodiscard]] constexpr Figure by(std::string_view prometheus_label) const {
    Figure row = *this;
    row.label = prometheus_label;
    return row;
  }

 private:
  [[nodiscard]] constexpr Figure with(Empty how) const {
    Figure row = *this;
    row.empty = how;
    return row;
  }
};

/// All figures of a struct, in the order of outputs. A row with the name of an earlier one replaces
/// it, at its place.
struct FigureTable {
  std::string_view meaning;
  std::span<const Figure> rows;
};

/// An output of JSON: a line of --json, or a file.
struct JsonOutput {
  std::string_view name;   // "impair_run": its key "schema" is "longwire.impair_run"
  std::string_view title;  // the commands and options that print it
  const FigureTable& (*figures)() = nullptr;
  bool judged = false;  // app::Verdicts adds "verdict"
  /// Increases when a key goes or changes its meaning; not for a new key.
  int version = 1;
};

namespace figure_detail {

template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) { name_of(value); };
template <class T>
concept Struct = requires { T::figures(); };
template <class T>
concept Optional = requires(const T& value) {
  *value;
  static_cast<bool>(value);
};
template <class T>
concept List = std::ranges::input_range<const T> && !Text<T> && !Struct<T>;
template <class T>
using ElementOf = std::remove_cvref_t<std::ranges::range_reference_t<const T>>;
template <class T>
concept Map = List<T> && requires(const ElementOf<T>& element) {
  { element.first } -> Text;
  element.second;
};
template <class T>
inline constexpr bool kIsDuration = false;
template <class Rep, class Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;

template <class T>
constexpr FigureType type_of();
template <class T>
inline constexpr FigureType kType = type_of<T>();

template <const FigureTable& (*table)()>
inline constexpr FigureType kObject{.shape = FigureType::Shape::object, .table = table};
template <const FigureTable& (*table)()>
inline constexpr FigureType kObjects{.shape = FigureType::Shape::list, .element = &kObject<table>};

template <class T>
constexpr FigureType list_type() {
  if constexpr (Map<T>) {
    using Value = std::remove_cvref_t<decltype(std::declval<ElementOf<T>>().second)>;
    return {.shape = FigureType::Shape::map, .element = &kType<Value>};
  } else {
    FigureType type{.shape = FigureType::Shape::list, .element = &kType<ElementOf<T>>};
    if constexpr (requires { std::tuple_size<T>::value; }) type.length = std::tuple_size_v<T>;
    return type;
  }
}

template <class T>
constexpr FigureType type_of() {
  using enum FigureType::Shape;
  if constexpr (std::same_as<T, bool>)
    return {truth};
  else if constexpr (std::unsigned_integral<T>)
    return {natural};
  else if constexpr (std::signed_integral<T> || kIsDuration<T>)
    return {integer};
  else if constexpr (std::floating_point<T>)
    return {number};
  else if constexpr (Text<T> || Named<T>)
    return {text};
  else if constexpr (std::same_as<T, FigureValue>)
    return {figure};
  else if constexpr (std::same_as<T, FieldValue>)
    return {field};
  else if constexpr (std::same_as<T, JsonText>)
    return {json};
  else if constexpr (Struct<T>)
    return {.shape = object, .table = &T::figures};
  else if constexpr (List<T>)
    return list_type<T>();
  else
    return type_of<std::remove_cvref_t<decltype(*std::declval<const T&>())>>();
}

template <class T>
void emit(const T& value, FigureSink& sink) {
  if constexpr (std::same_as<T, bool>)
    sink.value(value);
  else if constexpr (std::unsigned_integral<T>)
    sink.value(std::uint64_t{value});
  else if constexpr (std::signed_integral<T>)
    sink.value(std::int64_t{value});
  else if constexpr (std::floating_point<T>)
    sink.value(double{value});
  else if constexpr (kIsDuration<T>)
    sink.value(std::int64_t{value.count()});
  else if constexpr (Text<T>)
    sink.value(std::string_view(value));
  else if constexpr (Named<T>)
    sink.value(std::string_view(name_of(value)));
  else if constexpr (std::same_as<T, FigureValue>)
    sink.value(value);
  else if constexpr (std::same_as<T, FieldValue>)
    std::visit([&](const auto& found) { sink.value(found); }, value);
  else if constexpr (std::same_as<T, JsonText>)
    sink.json(value.text);
  else if constexpr (Struct<T>)
    sink.object(T::figures(), &value);
  else if constexpr (Map<T>) {
    sink.begin_map();
    for (const auto& element : value) {
      sink.key(element.first);
      emit(element.second, sink);
    }
    sink.end();
  } else if constexpr (List<T>) {
    sink.begin_list();
    for (const auto& element : value) emit<ElementOf<T>>(element, sink);
    sink.end();
  } else {
    emit(*value, sink);
  }
}

template <class T>
concept Settable = std::is_arithmetic_v<T> || Named<T>;

/// Stores a value; its alternative is that of T.
template <Settable T>
void store(T& target, const FigureValue& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, double>)
    target = std::get<T>(value);
  else
    target = static_cast<T>(std::get<std::uint64_t>(value));
}

template <class T>
bool is_empty(const T& value) {
  if constexpr (Text<T>)
    return std::string_view(value).empty();
  else if constexpr (Struct<T>)
    return false;
  else if constexpr (List<T>)
    return std::ranges::begin(value) == std::ranges::end(value);
  else if constexpr (kIsDuration<T>)
    return value.count() == 0;
  else if constexpr (std::is_arithmetic_v<T>)
    return value == T{};
  else if constexpr (Optional<T>)
    return !value;
  else
    return false;
}

template <class T>
inline constexpr bool kMayLack = Optional<T> && !Text<T> && !List<T>;

}  // namespace figure_detail

/// Leads to a member of a member: through<&Frame::ends, &Ends::source>(frame) is frame.ends.source.
template <auto... members>
inline constexpr auto through = [](auto& object) -> auto& { return (object.*....*members); };

/// Makes the rows for a table of `Object`.
template <class Object>
struct FigureOf {
  /// The row of a member, or of a value that is computed: `accessor` is a pointer to a member, to a
  /// member function without arguments, or a function of const Object&. Its value is a truth value,
  /// a number, a duration (in its own unit), a text, an enumeration with name_of(), a struct with
  /// figures(), a list of these, or a map: a list of pairs of name and value. An optional, or a
  /// pointer, is left out where it has no value.
  template <auto accessor>
  static constexpr Figure of(std::string_view name, std::string_view meaning,
                             Unit unit = Unit::none) {
    using Value = std::remove_cvref_t<std::invoke_result_t<decltype(accessor), const Object&>>;
    Figure row{.name = name, .meaning = meaning, .unit = unit};
    if (figure_detail::kMayLack<Value>) row.empty = Figure::Empty::left_out;
    row.type = &figure_detail::kType<Value>;
    row.is_empty = [](const void* object) {
      return figure_detail::is_empty<Value>(
          std::invoke(accessor, *static_cast<const Object*>(object)));
    };
    row.read = [](const void* object, FigureSink& sink) {
      figure_detail::emit<Value>(std::invoke(accessor, *static_cast<const Object*>(object)), sink);
    };
    if constexpr (kIsWritable<accessor, Value>)
      row.write = [](void* object, const FigureValue& value) {
        figure_detail::store(std::invoke(accessor, *static_cast<Object*>(object)), value);
      };
    return row;
  }
  /// The row of a struct whose rows stand in its place.
  template <auto accessor>
  static constexpr Figure rows_of() {
    return of<accessor>({}, {});
  }
  /// The row of a struct whose table is a function, as its type is of another module. `accessor`
  /// leads to the struct, or to a pointer; null: there is none. Without a name, the struct's rows
  /// stand in its place.
  template <auto accessor, const FigureTable& (*table)()>
  static constexpr Figure with_table(std::string_view name = {}, std::string_view meaning = {},
                                     Unit unit = Unit::none) {
    Figure row{.name = name, .meaning = meaning, .unit = unit};
    if (std::is_pointer_v<std::invoke_result_t<decltype(accessor), const Object&>>)
      row.empty = Figure::Empty::left_out;
    row.type = &figure_detail::kObject<table>;
    row.is_empty = [](const void* object) { return address<accessor>(object) == nullptr; };
    row.read = [](const void* object, FigureSink& sink) {
      sink.object(table(), address<accessor>(object));
    };
    return row;
  }
  /// The row of a list of structs whose table is a function, as their type is of another module.
  /// `accessor` leads to the list, or to a pointer; null: there is none.
  template <auto accessor, const FigureTable& (*table)()>
  static constexpr Figure list_with_table(std::string_view name, std::string_view meaning) {
    Figure row{.name = name, .meaning = meaning};
    using Value = std::remove_cvref_t<std::invoke_result_t<decltype(accessor), const Object&>>;
    if (std::is_pointer_v<Value>) row.empty = Figure::Empty::left_out;
    row.type = &figure_detail::kObjects<table>;
    row.is_empty = [](const void* object) {
      return figure_detail::is_empty<Value>(
          std::invoke(accessor, *static_cast<const Object*>(object)));
    };
    row.read = [](const void* object, FigureSink& sink) {
      decltype(auto) found = std::invoke(accessor, *static_cast<const Object*>(object));
      sink.begin_list();
      if constexpr (std::is_pointer_v<Value>)
        for (const auto& element : *found) sink.object(table(), &element);
      else
        for (const auto& element : found) sink.object(table(), &element);
      sink.end();
    };
    return row;
  }

 private:
  template <auto accessor, class Value>
  static constexpr bool kIsWritable = [] {
    if constexpr (figure_detail::Settable<Value> &&
                  std::is_invocable_v<decltype(accessor), Object&>)
      return std::same_as<std::invoke_result_t<decltype(accessor), Object&>, Value&>;
    return false;
  }();
  template <auto accessor>
  static const void* address(const void* object) {
    decltype(auto) found = std::invoke(accessor, *static_cast<const Object*>(object));
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(found)>>) {
      return found;
    } else {
      return &found;
    }
  }
};

}  // namespace lw

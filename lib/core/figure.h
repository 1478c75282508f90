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
/// The outputs are in lib/report/figures: JSON, JSON Schema, Prometheus text. The rows of members
/// also write them: from() says their bounds. Sources of values are options
/// (lib/app/setting_options.h), keys of a profile (lib/config/toml/settings.h), JSON
/// (lib/report/figures/read_json.h); core/setting.h reads one value from a text.
namespace lw {

/// The unit of a figure's value; its text is unit_text(Unit) of core/setting.h.
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
  percent,
  share  // of 1
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
    // clang-format off
    truth, integer, natural, number, text, field, figure, object, json, list, map
    // clang-format on
  };
  Shape shape{};
  const FigureTable& (*table)() = nullptr;  // of an object
  const FigureType* element = nullptr;      // of a list or map
  std::size_t length = 0;                   // of a list of fixed length; 0: of any length
  std::size_t bytes = 0;                    // of a natural or an integer: its size in memory
};

/// Gives values to members: the counterpart of FigureSink. A source knows the row whose value it
/// gives. It keeps its first error; the values after it are zero or empty.
class FigureSource {
 public:
  /// The next value: a truth value, a whole number or a double, as the type says, or a text, which
  /// is valid until the next call.
  virtual FigureValue value(const FigureType& type) = 0;
  /// The next value as an index of the row's `choices`.
  virtual std::size_t choice() = 0;
  /// Sets the struct of the table.
  virtual void object(const FigureTable& table, void* object) = 0;
  /// Begin a list or a map of so many values, which come before end(). `fixed`: the length that a
  /// list must have; 0: any.
  virtual std::size_t begin_list(std::size_t fixed) = 0;
  virtual std::size_t begin_map() = 0;
  /// The name of the next value of a map.
  virtual std::string key() = 0;
  virtual void end() = 0;
  /// Says what is wrong with the last value: "expected an IPv6 address, found \"x\"".
  virtual void refuse(std::string_view why) = 0;

 protected:
  ~FigureSource() = default;
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
  std::string_view option = {};    // names of the command line's option; empty: from `name`
  const FigureType* type = nullptr;
  bool (*is_empty)(const void* object) = nullptr;
  void (*read)(const void* object, FigureSink& sink) = nullptr;
  /// Sets the member. Null: the value is computed.
  void (*write)(void* object, FigureSource& source) = nullptr;
  /// Bounds of a number in its unit, or of the length of a list; none if most < least.
  double least = 0, most = -1;

  /// This row with another value of a member. Comes first, as clang wants it defined before the
  /// functions that use it.
  template <auto member, class Value>
  [[nodiscard]] constexpr Figure with(const Value& value) const {
    Figure row = *this;
    row.*member = value;
    return row;
  }
  [[nodiscard]] constexpr bool is_setting() const { return least <= most; }
  /// The row of a member whose number, or length, is from `low` to `high`. Does not compile for a
  /// value that is computed.
  [[nodiscard]] constexpr Figure from(double low, double high) const {
    if (write == nullptr) throw "a value with bounds is a member that can be set";
    Figure row = *this;
    row.least = low;
    row.most = high;
    return row;
  }
  /// The row of a member that is true or false, or one of some names: those of an enumeration, in
  /// its order from 0 on.
  [[nodiscard]] constexpr Figure set_to(std::span<const std::string_view> names = {}) const {
    return from(0, 0).among(names);
  }
  [[nodiscard]] constexpr Figure if_any() const { return with<&Figure::empty>(Empty::left_out); }
  [[nodiscard]] constexpr Figure or_null() const { return with<&Figure::empty>(Empty::null); }
  [[nodiscard]] constexpr Figure as_gauge() const { return with<&Figure::gauge>(true); }
  [[nodiscard]] constexpr Figure among(std::span<const std::string_view> values) const {
    return with<&Figure::choices>(values);
  }
  [[nodiscard]] constexpr Figure renamed_from(std::string_view name_before) const {
    return with<&Figure::old_name>(name_before);
  }
  [[nodiscard]] constexpr Figure by(std::string_view prometheus_label) const {
    return with<&Figure::label>(prometheus_label);
  }
  /// The names of its option, where they don't follow from its name: "-t,--tx-depth".
  [[nodiscard]] constexpr Figure as_option(std::string_view names) const {
    return with<&Figure::option>(names);
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
    return {.shape = natural, .bytes = sizeof(T)};
  else if constexpr (std::signed_integral<T> || kIsDuration<T>)
    return {.shape = integer, .bytes = sizeof(T)};
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
concept Growing =
    std::default_initializable<ElementOf<T>> && requires(T& list) { list.emplace_back(); };

/// Types of members that a source can set.
template <class T>
constexpr bool is_writable() {
  if constexpr (std::is_arithmetic_v<T> || kIsDuration<T> || Named<T> || Struct<T> ||
                std::same_as<T, std::string>)
    return true;
  else if constexpr (Map<T>)
    return std::same_as<typename ElementOf<T>::first_type, std::string> && Growing<T>;
  else if constexpr (List<T> && (Growing<T> || requires { std::tuple_size<T>::value; }))
    return is_writable<ElementOf<T>>();
  else if constexpr (Optional<T> && requires(T& value) { value.emplace(); })
    return is_writable<typename T::value_type>();
  else
    return false;
}

/// Sets `target` to the next value of the source: the counterpart of emit().
template <class T>
void absorb(T& target, FigureSource& source) {
  if constexpr (std::same_as<T, bool> || std::floating_point<T>)
    target = std::get<T>(source.value(kType<T>));
  else if constexpr (std::unsigned_integral<T>)
    target = static_cast<T>(std::get<std::uint64_t>(source.value(kType<T>)));
  else if constexpr (std::signed_integral<T>)
    target = static_cast<T>(std::get<std::int64_t>(source.value(kType<T>)));
  else if constexpr (kIsDuration<T>)
    target = T(std::get<std::int64_t>(source.value(kType<T>)));
  else if constexpr (Named<T>)
    target = static_cast<T>(source.choice());
  else if constexpr (std::same_as<T, std::string>)
    target = std::get<std::string_view>(source.value(kType<T>));
  else if constexpr (Struct<T>)
    source.object(T::figures(), &target);
  else if constexpr (Map<T>) {
    target.resize(source.begin_map());
    for (auto& [name, value] : target) {
      name = source.key();
      absorb(value, source);
    }
    source.end();
  } else if constexpr (List<T>) {
    const std::size_t length = source.begin_list(kType<T>.length);
    if constexpr (Growing<T>) target.resize(length);
    if (length == target.size())
      for (auto& element : target) absorb(element, source);
    source.end();
  } else {
    absorb(target.emplace(), source);
  }
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

/// Returns the name of a value among pairs of name and value; empty if it has none.
template <class Words, class T>
constexpr std::string_view name_among(const Words& words, const T& value) noexcept {
  for (const auto& [name, named] : words)
    if (named == value) return name;
  return {};
}

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
    if constexpr (figure_detail::is_writable<Value>() && kLeadsTo<accessor, Value>)
      row.write = [](void* object, FigureSource& source) {
        figure_detail::absorb(std::invoke(accessor, *static_cast<Object*>(object)), source);
      };
    return row;
  }
  /// The row of a member whose values have the names of `words`: pairs of name and value.
  template <auto accessor, const auto& words>
  static constexpr Figure word(std::string_view name, std::string_view meaning) {
    Figure row{.name = name, .meaning = meaning, .choices = kNamesOf<words>};
    row.type = &figure_detail::kType<std::string_view>;
    row.is_empty = [](const void* object) {
      return name_among(words, std::invoke(accessor, *static_cast<const Object*>(object))).empty();
    };
    row.read = [](const void* object, FigureSink& sink) {
      sink.value(name_among(words, std::invoke(accessor, *static_cast<const Object*>(object))));
    };
    row.write = [](void* object, FigureSource& source) {
      std::invoke(accessor, *static_cast<Object*>(object)) = words[source.choice()].second;
    };
    return row.from(0, 0);
  }
  /// The row of a member with a text: to_text() returns it, read_text() reads it as a Parsed<> of
  /// core/quantity.h.
  template <auto accessor, auto to_text, auto read_text>
  static constexpr Figure text(std::string_view name, std::string_view meaning) {
    Figure row{.name = name, .meaning = meaning};
    row.type = &figure_detail::kType<std::string>;
    row.is_empty = [](const void*) { return false; };
    row.read = [](const void* object, FigureSink& sink) {
      sink.value(std::string_view(
          std::string(to_text(std::invoke(accessor, *static_cast<const Object*>(object))))));
    };
    row.write = [](void* object, FigureSource& source) {
      const FigureValue value = source.value(figure_detail::kType<std::string>);
      if (auto read = read_text(std::get<std::string_view>(value)))
        std::invoke(accessor, *static_cast<Object*>(object)) = *std::move(read);
      else
        source.refuse(read.error());
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
    using Value = std::remove_cvref_t<std::invoke_result_t<decltype(accessor), const Object&>>;
    Figure row{.name = name, .meaning = meaning, .unit = unit};
    if (std::is_pointer_v<Value>) row.empty = Figure::Empty::left_out;
    row.type = &figure_detail::kObject<table>;
    row.is_empty = [](const void* object) { return address<accessor>(object) == nullptr; };
    row.read = [](const void* object, FigureSink& sink) {
      sink.object(table(), address<accessor>(object));
    };
    if constexpr (!std::is_pointer_v<Value> && kLeadsTo<accessor, Value>)
      row.write = [](void* object, FigureSource& source) {
        source.object(table(), &std::invoke(accessor, *static_cast<Object*>(object)));
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
  template <const auto& words>
  static constexpr auto kNamesOf = [] {
    std::array<std::string_view, std::size(words)> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = words[i].first;
    return names;
  }();
  /// True if the accessor leads to a member of this type, not to a copy or a constant.
  template <auto accessor, class Value>
  static constexpr bool kLeadsTo = [] {
    if constexpr (std::is_invocable_v<decltype(accessor), Object&>)
      return std::same_as<std::invoke_result_t<decltype(accessor), Object&>, Value&>;
    return false;
  }();
  template <auto accessor>
  static auto address(const void* object) {
    decltype(auto) found = std::invoke(accessor, *static_cast<const Object*>(object));
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(found)>>)
      return found;
    else
      return &found;
  }
};

}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#include "report/figures/read_json.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/printable.h"

namespace lw::report {
namespace {

constexpr std::size_t kMostName = 1000;  // bytes of a name within a map

/// Reads the value of one row.
class JsonSource final : public FigureSource {
 public:
  JsonSource(const Figure& row, const Json& json) : row_(row), next_(&json) {}

  FigureValue value(const FigureType& type) override {
    using Shape = FigureType::Shape;
    const Json& json = pop();
    if (type.shape == Shape::truth) return truth_of(json);
    if (type.shape == Shape::natural) return natural_of(json, type.bytes);
    if (type.shape == Shape::integer) return integer_of(json, type.bytes);
    if (type.shape == Shape::number) return number_of(json);
    if (json.is_string()) return std::string_view(json.get_ref<const std::string&>());
    wrong("a string", json);
    return std::string_view();
  }
  std::size_t choice() override {
    const FigureValue text = value({.shape = FigureType::Shape::text});
    const auto found = std::ranges::find(row_.choices, std::get<std::string_view>(text));
    if (found != row_.choices.end()) return static_cast<std::size_t>(found - row_.choices.begin());
    wrong(fmt::format("one of {}", fmt::join(row_.choices, ", ")), *last_);
    return 0;
  }
  void object(const FigureTable& table, void* object) override {
    const Json& json = pop();
    if (const auto read = read_json(json, table, object); !read)
      keep(row_.name.empty() ? read.error() : fmt::format("{}: {}", row_.name, read.error()));
  }
  std::size_t begin_list(std::size_t fixed) override {
    const bool bounded = open_.empty() && row_.is_setting();
    const Json& json = pop();
    open_.emplace_back(json.begin());
    const std::size_t length = json.is_array() ? json.size() : 0;
    const auto count = static_cast<double>(length);
    const bool fits =
        fixed != 0 ? length == fixed : !bounded || (count >= row_.least && count <= row_.most);
    if (json.is_array() && fits) return length;
    const std::string bounds =
        bounded ? fmt::format(" of {:.0f} to {:.0f}", row_.least, row_.most) : "";
    wrong("a list" + (fixed != 0 ? fmt::format(" of {}", fixed) : bounds),
          json.is_array() ? Json(length) : json);
    return 0;
  }
  std::size_t begin_map() override {
    const Json& json = pop();
    open_.emplace_back(json.begin());
    if (!json.is_object()) return wrong("an object", json), 0;
    return json.size();
  }
  std::string key() override {
    std::string name = open_.back().key();
    if (printable(name, kMostName) != name) wrong("plain names", Json(name));
    return name;
  }
  void end() override { open_.pop_back(); }
  void refuse(std::string_view why) override { keep(fmt::format("\"{}\": {}", row_.name, why)); }

  std::string error;

 private:
  /// The next value: of the row, or of the innermost list or map.
  const Json& pop() {
    last_ = open_.empty() ? next_ : &*open_.back()++;
    return *last_;
  }
  bool truth_of(const Json& json) {
    if (!json.is_boolean()) wrong("true or false", json);
    return json.is_boolean() && json.get<bool>();
  }
  std::uint64_t natural_of(const Json& json, std::size_t bytes) {
    const std::uint64_t highest = std::numeric_limits<std::uint64_t>::max() >> (64 - 8 * bytes);
    const bool bounded = row_.is_setting() && row_.type->shape != FigureType::Shape::list;
    const auto low = static_cast<std::uint64_t>(bounded ? row_.least : 0);
    const bool lower = bounded && row_.most < static_cast<double>(highest);
    const std::uint64_t high = lower ? static_cast<std::uint64_t>(row_.most) : highest;
    const bool is_natural =
        json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
    const std::uint64_t found = is_natural ? json.get<std::uint64_t>() : 0;
    if (is_natural && found >= low && found <= high) return found;
    wrong(fmt::format("a whole number from {} to {}", low, high), json);
    return low;
  }
  std::int64_t integer_of(const Json& json, std::size_t bytes) {
    const std::int64_t highest = std::numeric_limits<std::int64_t>::max() >> (64 - 8 * bytes);
    const auto within = [&] {
      if (json.is_number_unsigned())
        return json.get<std::uint64_t>() <= static_cast<std::uint64_t>(highest);
      const auto found = json.get<std::int64_t>();
      return found >= -highest - 1 && found <= highest;
    };
    const bool fits = json.is_number_integer() && within();
    const std::int64_t found = fits ? json.get<std::int64_t>() : 0;
    const auto number = static_cast<double>(found);
    if (fits && (!row_.is_setting() || (number >= row_.least && number <= row_.most))) return found;
    wrong(row_.is_setting()
              ? fmt::format("a whole number from {:.0f} to {:.0f}", row_.least, row_.most)
              : "a whole number",
          json);
    return 0;
  }
  double number_of(const Json& json) {
    const double found = json.is_number() ? json.get<double>() : 0;
    if (json.is_number() && (!row_.is_setting() || (found >= row_.least && found <= row_.most)))
      return found;
    wrong(row_.is_setting() ? fmt::format("a number from {} to {}", row_.least, row_.most)
                            : "a number",
          json);
    return 0;
  }
  void wrong(std::string_view expected, const Json& found) {
    refuse(fmt::format("expected {}, found {}", expected, shown(found)));
  }
  void keep(std::string why) {
    if (error.empty()) error = std::move(why);
  }

  const Figure& row_;
  const Json* next_;
  const Json* last_ = nullptr;
  std::vector<Json::const_iterator> open_;
};

/// Reads a row. Returns the error; empty: none.
std::string read_row(const Json& json, const Figure& row, void* object) {
  const bool inner = row.name.empty();  // the rows of its struct stand in the place of this one
  const auto found = inner ? json.end() : json.find(std::string(row.name));
  if (!inner && found == json.end())
    return row.empty == Figure::Empty::left_out ? ""
                                                : fmt::format("expected a field \"{}\"", row.name);
  if (!inner && found->is_null() && row.empty == Figure::Empty::null) return "";
  JsonSource source(row, inner ? json : *found);
  row.write(object, source);
  return source.error;
}

}  // namespace

Parsed<void> read_json(const Json& json, const FigureTable& table, void* object) {
  if (!json.is_object()) return std::unexpected("expected an object, found " + shown(json));
  for (const Figure& row : table.rows) {
    if (row.write == nullptr) continue;
    if (std::string error = read_row(json, row, object); !error.empty())
      return std::unexpected(std::move(error));
  }
  return {};
}

std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

}  // namespace lw::report

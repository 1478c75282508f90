// SPDX-License-Identifier: BSD-3-Clause
#include "report/figures/json.h"

#include <utility>
#include <vector>

#include "core/json.h"

namespace lw::report {
namespace {

void add_rows(Json& into, const FigureTable& table, const void* object);

/// Makes JSON of one value.
class ValueSink : public FigureSink {
 public:
  void value(const FigureValue& value) override {
    std::visit([this](const auto& found) { put(found); }, value);
  }
  void object(const FigureTable& table, const void* object) override {
    Json json = Json::object();
    add_rows(json, table, object);
    put(std::move(json));
  }
  void json(std::string_view object) override { put(parse_json(object)); }
  void begin_list() override { open_.push_back({Json::array(), {}}); }
  void begin_map() override { open_.push_back({Json::object(), {}}); }
  void key(std::string_view name) override { open_.back().key = name; }
  void end() override {
    Json closed = std::move(open_.back().json);
    open_.pop_back();
    put(std::move(closed));
  }

  Json made;

 private:
  struct Open {
    Json json;
    std::string key;
  };
  void put(Json value) {
    if (open_.empty()) {
      made = std::move(value);
    } else if (open_.back().json.is_array()) {
      open_.back().json.push_back(std::move(value));
    } else {
      open_.back().json[open_.back().key] = std::move(value);
    }
  }

  std::vector<Open> open_;
};

/// Adds the rows of a struct to an object that is already begun.
class RowsSink : public FigureSink {
 public:
  explicit RowsSink(Json& into) : into_(into) {}
  void object(const FigureTable& table, const void* object) override {
    add_rows(into_, table, object);
  }
  void value(const FigureValue&) override {}
  void json(std::string_view) override {}
  void begin_list() override {}
  void begin_map() override {}
  void key(std::string_view) override {}
  void end() override {}

 private:
  Json& into_;
};

void put(Json& into, const Figure& row, Json value) {
  Json& placed = into[std::string(row.name)] = std::move(value);
  if (!row.old_name.empty()) into[std::string(row.old_name)] = Json(placed);
}

void add_row(Json& into, const Figure& row, const void* object) {
  if (row.empty != Figure::Empty::shown && row.is_empty(object)) {
    if (row.empty == Figure::Empty::null) put(into, row, nullptr);
    return;
  }
  if (row.name.empty()) {
    RowsSink rows(into);
    return row.read(object, rows);
  }
  put(into, row, json_of(row, object));
}

void add_rows(Json& into, const FigureTable& table, const void* object) {
  for (const Figure& row : table.rows) add_row(into, row, object);
}

}  // namespace

Json json_of(const Figure& row, const void* object) {
  ValueSink value;
  row.read(object, value);
  return std::move(value.made);
}

Json json_of(const FigureTable& table, const void* object) {
  Json json = Json::object();
  add_rows(json, table, object);
  return json;
}

}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_rows.h"

#include <string>

#include <fmt/format.h>

#include "report/figure_paths.h"
#include "report/figures/schema.h"

namespace lw::report {
namespace {

/// The schema of a child: `key` of an object, or an element of a list; null: there is none.
const Json* child_schema(const Json* of, const std::string& key, bool is_element) {
  if (of == nullptr) return nullptr;
  if (is_element) return of->contains("items") ? &(*of)["items"] : nullptr;
  if (of->contains("properties") && (*of)["properties"].contains(key))
    return &(*of)["properties"][key];
  const auto more = of->find("additionalProperties");
  return more != of->end() && more->is_object() ? &*more : nullptr;
}

std::string description_of(const Json* schema) {
  return schema == nullptr ? std::string() : schema->value("description", "");
}

std::string path_of(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + "." + key;
}

class FigureList {
 public:
  FigureList(Json& rows, std::size_t most) : rows_(rows), most_(most) {}

  void add(const Json& node, const Json* schema, const std::string& path) {
    if (!node.is_structured()) return add_leaf(node, schema, path);
    for (const auto& [key, child] : children_of(node))
      if (path.empty() ? key != "verdict" : true)
        add(*child, child_schema(schema, key, node.is_array()), path_of(path, key));
  }
  [[nodiscard]] std::size_t all() const noexcept { return all_; }

 private:
  void add_leaf(const Json& value, const Json* schema, const std::string& path) {
    if (++all_ > most_) return;
    rows_.push_back({{"path", path}, {"value", value}, {"help", description_of(schema)}});
  }

  Json& rows_;
  std::size_t most_, all_ = 0;
};

}  // namespace

Json figure_rows(const Json& report, std::size_t most, const JsonOutput* output) {
  Json rows = Json::array();
  FigureList list(rows, most);
  const Json schema = output ? schema_of(*output) : Json::object();
  list.add(report, &schema, {});
  return {{"rows", std::move(rows)}, {"of", list.all()}};
}

}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#include "report/figures/metrics.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace lw::report {
namespace {

using Labels = Prometheus::Labels;

/// The place of a number within a table.
struct Place {
  std::string name;             // keys that lead to it, joined by _
  std::string help;             // without a full stop
  const Figure* row = nullptr;  // the innermost
  bool gauge = false;
};

struct Sample {
  Labels labels;
  FigureValue value;  // a number
};

struct Family {
  Place place;
  std::vector<Sample> samples = {};
};

/// How a unit ends a figure's key, its name in a metric, and how many of it make one of that.
struct MetricUnit {
  std::string_view key_ending, name;
  double divisor = 1;
};

MetricUnit metric_unit(Unit unit) noexcept {
  constexpr double kNs = 1e9, kUs = 1e6;  // in a second
  switch (unit) {
    case Unit::frames:
      return {"_frames", "_frames"};
    case Unit::bytes:
      return {"_bytes", "_bytes"};
    case Unit::ns:
      return {"_ns", "_seconds", kNs};
    case Unit::us:
      return {"_usec", "_seconds", kUs};
    case Unit::s:
      return {"_seconds", "_seconds"};
    case Unit::bits_per_second:
      return {"_bps", "_bits_per_second"};
    case Unit::mbps:
      return {"_mbps", "_bits_per_second", 1e-6};
    case Unit::gbps:
      return {"_gbps", "_bits_per_second", 1e-9};
    case Unit::percent:
      return {"_percent", "_percent"};
    case Unit::share:
      return {"_share", "_ratio"};
    case Unit::none:
      break;
  }
  return {"", ""};
}

/// "without_link_ns" in ns: "without_link_seconds"; "received_frames" in frames stays.
std::string with_unit(std::string name, Unit unit) {
  const MetricUnit metric = metric_unit(unit);
  if (name.ends_with(metric.key_ending)) name.resize(name.size() - metric.key_ending.size());
  const bool is_unit = metric.name == "_" + name;
  return is_unit ? name : name.append(metric.name);
}

std::string without_stop(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

std::string lower_first(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

double number_of(const FigureValue& value) {
  if (const auto* natural = std::get_if<std::uint64_t>(&value))
    return static_cast<double>(*natural);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

class Families {
 public:
  void add(const Place& place, const Labels& labels, const FigureValue& value) {
    if (std::holds_alternative<bool>(value) || std::holds_alternative<std::string_view>(value))
      return;
    of(place).samples.push_back({labels, value});
  }
  /// The family of a place; a new one where there is none.
  Family& of(const Place& place) {
    for (Family& family : families_)
      if (family.place.name == place.name) return family;
    return families_.emplace_back(place);
  }
  void write(Prometheus& out, std::string_view prefix) const {
    for (const Family& family : families_) write(out, prefix, family);
  }

 private:
  static void write(Prometheus& out, std::string_view prefix, const Family& family) {
    const Unit unit = family.place.row->unit;
    const bool gauge = family.place.gauge;
    out.family(
        fmt::format("{}{}{}", prefix, with_unit(family.place.name, unit), gauge ? "" : "_total"),
        gauge ? Prometheus::Type::gauge : Prometheus::Type::counter, family.place.help + ".");
    const double divisor = metric_unit(unit).divisor;
    for (const auto& [labels, value] : family.samples) {
      if (const auto* count = std::get_if<std::uint64_t>(&value);
          count != nullptr && divisor == 1) {
        out.sample(labels, *count);
      } else {
        out.sample(labels, number_of(value) / divisor);
      }
    }
  }

  std::vector<Family> families_;
};

void add_rows(Families& families, const FigureTable& table, const void* object, const Place& place,
              const Labels& labels);

/// Adds the numbers of one figure.
class MetricSink : public FigureSink {
 public:
  MetricSink(Families& families, Place place, Labels labels)
      : families_(families), place_(std::move(place)), labels_(std::move(labels)) {}

  void value(const FigureValue& value) override {
    if (lists_ == 0) families_.add(place_, labels_, value);
  }
  void object(const FigureTable& table, const void* object) override {
    if (lists_ == 0) add_rows(families_, table, object, place_, labels_);
  }
  void json(std::string_view) override {}
  void begin_list() override { ++lists_; }
  void begin_map() override { lists_ += place_.row->label.empty() ? 1 : 0; }
  void key(std::string_view name) override {
    if (place_.row->label.empty()) return;
    if (keyed_) labels_.pop_back();
    labels_.emplace_back(place_.row->label, name);
    keyed_ = true;
  }
  void end() override { lists_ -= lists_ > 0 ? 1 : 0; }

 private:
  Families& families_;
  Place place_;
  Labels labels_;
  int lists_ = 0;  // open lists, and maps without a label: they have no family
  bool keyed_ = false;
};

/// True if the names of the rows within a place are values of its label.
bool labels_rows(const Place& place) { return place.row != nullptr && !place.row->label.empty(); }

/// The place of a row within `outer`.
Place within(const Place& outer, const Figure& row) {
  Place place = outer;
  place.gauge = outer.gauge || row.gauge;
  if (row.name.empty()) return place;
  place.row = &row;
  if (labels_rows(outer)) return place;
  const std::string help = without_stop(row.meaning);
  place.name += (outer.name.empty() ? "" : "_") + std::string(row.name);
  place.help = outer.help.empty() ? help : outer.help + ": " + lower_first(help);
  return place;
}

void add_row(Families& families, const Figure& row, const void* object, const Place& outer,
             Labels labels) {
  if (row.empty != Figure::Empty::shown && row.is_empty(object)) return;
  if (labels_rows(outer)) labels.emplace_back(outer.row->label, row.name);
  MetricSink sink(families, within(outer, row), std::move(labels));
  row.read(object, sink);
}

void add_rows(Families& families, const FigureTable& table, const void* object, const Place& place,
              const Labels& labels) {
  for (const Figure& row : table.rows) add_row(families, row, object, place, labels);
}

void begin_families(Families& families, const FigureTable& table, const Place& outer);

/// Begins the families of the numbers of a type, so that they are there without a sample too.
void begin_family(Families& families, const FigureType& type, const Place& place) {
  switch (type.shape) {
    using enum FigureType::Shape;
    case integer:
    case natural:
    case number:
      families.of(place);
      return;
    case object:
      return begin_families(families, type.table(), place);
    case map:
      if (labels_rows(place)) begin_family(families, *type.element, place);
      return;
    default:
      return;
  }
}

void begin_families(Families& families, const FigureTable& table, const Place& outer) {
  for (const Figure& row : table.rows) begin_family(families, *row.type, within(outer, row));
}

}  // namespace

void add_metrics(Prometheus& out, std::string_view prefix, const FigureTable& table,
                 std::span<const LabelledObject> objects) {
  Families families;
  begin_families(families, table, {});
  for (const LabelledObject& each : objects)
    add_rows(families, table, each.object, {}, each.labels);
  families.write(out, prefix);
}

}  // namespace lw::report

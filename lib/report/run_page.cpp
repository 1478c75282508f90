// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/figures/json.h"
#include "report/html_page.h"

namespace lw::report {

/// Made of lib/report/html/run.html by lib/report/html/embed.py.
extern const HtmlPage kRunPage;

namespace {

constexpr std::size_t kMostFigures = 4000, kMostPoints = 400;

/// The verdict of all reports, which a page shows first.
Json verdict_json(const RunPage& page) {
  Verdict all;
  Json statements = Json::array();
  for (const PageReport& report : page.reports) {
    all.add(report.verdict);
    for (const Judgement& each : report.verdict.all()) {
      Json row = json_of(each);
      if (!report.rows.name.empty()) row["report"] = report.rows.name;
      statements.push_back(std::move(row));
    }
  }
  const bool failed = page.exit != ExitCode::done;
  const bool is_known = all.colour() == Colour::red || !failed;
  return {{"colour", name_of(failed ? Colour::red : all.colour())},
          {"exit", to_int(page.exit)},
          {"headline", is_known || page.errors.empty() ? all.headline() : page.errors.front()},
          {"errors", page.errors},
          {"statements", std::move(statements)}};
}

Json texts_json(const std::vector<NamedText>& texts) {
  Json rows = Json::array();
  for (const auto& [name, text] : texts) rows.push_back({name, text});
  return rows;
}

/// The points of a curve, thinned where there are very many.
std::vector<PlotPoint> few_of(const std::vector<PlotPoint>& points) {
  std::vector<PlotPoint> few;
  const std::size_t step = (points.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < points.size(); i += step) few.push_back(points[i]);
  return few;
}

Plot thinned(Plot plot) {
  for (PlotCurve& curve : plot.curves) curve.points = few_of(curve.points);
  return plot;
}

/// The values of a curve; `of`: how many it has.
Json curve_json(const PlotCurve& curve) {
  Json points = Json::array();
  for (const PlotPoint& each : few_of(curve.points)) points.push_back({each.x, each.y});
  return {{"name", curve.name}, {"points", std::move(points)}, {"of", curve.points.size()}};
}

Json plot_json(const Plot& plot) {
  Json json = {{"title", plot.title}, {"x", plot.x.label}, {"y", plot.y.label}};
  if (plot.x.scale == PlotAxis::Scale::category) json["categories"] = plot.x.categories;
  json["curves"] = Json::array();
  for (const PlotCurve& curve : plot.curves) json["curves"].push_back(curve_json(curve));
  json["svg"] = to_svg(plot);
  json["narrow_svg"] = to_narrow_svg(thinned(plot));
  return json;
}

/// A picture without curves, such as a network.
Json drawing_json(const NamedText& drawing) {
  return {{"title", drawing.first},
          {"x", ""},
          {"y", ""},
          {"curves", Json::array()},
          {"svg", drawing.second}};
}

Json requested_json(const RequestedRow& row) {
  return {
      {"what", row.what},         {"requested", row.requested},
      {"measured", row.measured}, {"differs_by", row.difference ? Json(*row.difference) : Json()},
      {"comment", row.remark},    {"holds", row.holds ? Json(*row.holds) : Json()}};
}

Json figures_json(const PageReport& report) {
  Json figures = figure_rows(report.json, kMostFigures, report.output);
  if (!report.rows.name.empty()) figures["name"] = report.rows.name;
  return figures;
}

}  // namespace

std::string html_text(const RunPage& page) {
  Json data = {{"schema", "longwire.run_page"},
               {"version", 2},
               {"command", page.command},
               {"command_line", page.command_line},
               {"verdict", verdict_json(page)}};
  for (const char* key : {"requested", "accounts", "figures", "plots"}) data[key] = Json::array();
  Json reports = Json::array();
  for (const PageReport& report : page.reports) {
    for (const RequestedRow& row : report.rows.requested)
      data["requested"].push_back(requested_json(row));
    for (const auto& [identity, columns, rows] : report.rows.accounts)
      data["accounts"].push_back({{"identity", identity}, {"columns", columns}, {"rows", rows}});
    data["figures"].push_back(figures_json(report));
    reports.push_back(report.json);
  }
  for (const NamedText& each : page.drawings) data["plots"].push_back(drawing_json(each));
  for (const Plot& plot : page.plots) data["plots"].push_back(plot_json(plot));
  data["reports"] = std::move(reports);
  data["profiles"] = texts_json(page.profiles);
  data["changes"] = page.changes;
  data["machine"] = texts_json(page.machine);
  data["versions"] = texts_json(page.versions);
  return html_text(kRunPage, data);
}

}  // namespace lw::report

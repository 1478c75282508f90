// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/html_page.h"

namespace lw::report {

/// Made of lib/report/html/run.html by lib/report/html/embed.py.
extern const HtmlPage kRunPage;

namespace {

constexpr std::size_t kMostFigures = 4000, kMostPoints = 400;

std::string meaning_of(ExitCode code) {
  switch (code) {
    case ExitCode::done:
      return "The run succeeded, and everything that was checked holds.";
    case ExitCode::failed:
      return "The run failed, or something that was checked does not hold.";
    case ExitCode::usage:
      return "Wrong usage or profile, or an expectation that cannot be judged.";
    case ExitCode::environment:
      return "The system lacks or refused something.";
  }
  return {};
}

Json texts_json(const std::vector<NamedText>& texts) {
  Json rows = Json::array();
  for (const auto& [name, text] : texts) rows.push_back({name, text});
  return rows;
}

/// The values of a curve, thinned where there are very many; `of`: all.
Json curve_json(const PlotCurve& curve) {
  Json points = Json::array();
  const std::size_t step = (curve.points.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < curve.points.size(); i += step)
    points.push_back({curve.points[i].x, curve.points[i].y});
  return {{"name", curve.name}, {"points", std::move(points)}, {"of", curve.points.size()}};
}

Json plot_json(const Plot& plot) {
  Json json = {{"title", plot.title}, {"x", plot.x.label}, {"y", plot.y.label}};
  if (plot.x.scale == PlotAxis::Scale::category) json["categories"] = plot.x.categories;
  json["curves"] = Json::array();
  for (const PlotCurve& curve : plot.curves) json["curves"].push_back(curve_json(curve));
  json["svg"] = to_svg(plot);
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

Json verdict_json(std::optional<bool> holds) { return holds ? Json(*holds) : Json(); }

Json requested_json(const RequestedRow& row) {
  return {{"what", row.what},
          {"requested", row.requested},
          {"measured", row.measured},
          {"holds", verdict_json(row.holds)}};
}

void add_check(Json& rows, const std::string& text, std::optional<bool> holds) {
  rows.push_back({{"text", text}, {"holds", verdict_json(holds)}});
}

/// The checks of a report: the program's, what was not kept, and an early end.
void add_checks(Json& checks, const RunRows& rows) {
  for (const auto& [text, holds] : rows.checks) add_check(checks, text, holds);
  for (const auto& [what, requested, measured, holds] : rows.requested)
    if (holds == false)
      add_check(checks, fmt::format("{}: requested {}, measured {}", what, requested, measured),
                false);
  if (!rows.ended_early.empty()) add_check(checks, "Ended early: " + rows.ended_early, false);
}

/// The checks of all reports, and what was printed as an error.
Json checks_of(const RunPage& page) {
  Json checks = Json::array();
  for (const std::string& error : page.errors) add_check(checks, error, false);
  for (const PageReport& report : page.reports) add_checks(checks, report.rows);
  return checks;
}

Json figures_json(const PageReport& report) {
  Json figures = figure_rows(report.json, kMostFigures, report.output);
  if (!report.rows.name.empty()) figures["name"] = report.rows.name;
  return figures;
}

}  // namespace

std::string html_text(const RunPage& page) {
  Json data = {{"schema", "longwire.run_page"},
               {"version", 1},
               {"command", page.command},
               {"command_line", page.command_line},
               {"exit", {{"code", to_int(page.exit)}, {"meaning", meaning_of(page.exit)}}},
               {"checks", checks_of(page)}};
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

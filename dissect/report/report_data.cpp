// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/report_data.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "app/command_line.h"
#include "dissect/report/page_data.h"
#include "dissect/report/path_pictures.h"
#include "dissect/sessions/result_figures.h"
#include "dissect/upper/command_figures.h"
#include "dissect/upper/command_text.h"
#include "report/figures/json.h"
#include "wire/psn.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Session;
using report::Json;

/// A session's number and a direction.
using DirectionKey = std::pair<std::uint32_t, std::uint8_t>;

// Series.

/// Frames of requests that came late or were copied: first and last frame of each such anomaly.
std::vector<std::pair<std::uint64_t, std::uint64_t>> late_frames(
    const std::vector<const Anomaly*>& anomalies) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> frames;
  for (const Anomaly* const anomaly : anomalies) {
    const bool is_late =
        anomaly->kind == AnomalyKind::out_of_order || anomaly->kind == AnomalyKind::duplicate;
    if (is_late && anomaly->role == wire::Role::request)
      frames.emplace_back(anomaly->frame, anomaly->last_frame);
  }
  std::ranges::sort(frames);
  return frames;
}

/// Adds packets behind the highest PSN: sent again, late or copied. The anomalies show which.
void add_again(Json& row, const DirectionPlots& plots, const analysis::RequestStream* stream,
               const std::vector<const Anomaly*>& anomalies) {
  const auto frames = late_frames(anomalies);
  std::vector<SeriesPoint> resent, late;
  const std::vector<SeriesPoint> points = plots.again.points();
  for (const SeriesPoint& point : points) {
    const auto behind = std::ranges::upper_bound(frames, point.frame, {},
                                                 &std::pair<std::uint64_t, std::uint64_t>::first);
    const bool is_late = behind != frames.begin() && std::prev(behind)->second >= point.frame;
    (is_late ? late : resent).push_back(point);
  }
  const bool is_thinned = points.size() < plots.again.added();
  const std::uint64_t all_resent =
      is_thinned && stream != nullptr ? stream->counts().resent : resent.size();
  row["retransmitted"] = series_json(resent, std::max<std::uint64_t>(all_resent, resent.size()));
  row["late"] = series_json(
      late, is_thinned ? std::max<std::uint64_t>(plots.again.added() - all_resent, late.size())
                       : late.size());
}

Json intervals_json(const IntervalSums& intervals) {
  Json row;
  row["begin_ns"] = intervals.begin();
  row["width_ns"] = intervals.width();
  const std::pair<const char*, std::size_t> kinds[] = {{"payload", DirectionPlots::kPayload},
                                                       {"ce", DirectionPlots::kMarked},
                                                       {"cnps", DirectionPlots::kCnps}};
  for (const auto& [name, kind] : kinds) {
    row[name] = Json::array();
    for (const IntervalSums::Sums& sums : intervals.sums()) row[name].push_back(sums[kind]);
  }
  return row;
}

Json latency_json(const DirectionPlots& plots) {
  Json classes = Json::array();
  for (const auto& [of_latency, messages] : plots.latency)
    classes.push_back(Json::array({of_latency, messages}));
  return classes;
}

Json plots_json(const DirectionPlots& plots, const Session& session, std::uint8_t direction,
                const std::vector<const Anomaly*>& anomalies) {
  const analysis::RequestStream* const stream = session.directions[direction].stream.get();
  Json row;
  row["connection"] = session.number;
  row["direction"] = direction;
  row["since_ns"] = plots.is_cut ? Json(plots.since) : Json();
  row["first_psn"] = plots.first_psn;
  const bool answered = stream != nullptr && stream->counts().responses > 0;
  row["answered"] = answered;
  row["requests"] = series_json(plots.all_requests(), plots.requests.added());
  add_again(row, plots, stream, anomalies);
  row["acks"] = series_json(plots.acks);
  row["naks"] = series_json(plots.naks);
  row["responses"] = series_json(plots.responses);
  row["responses_again"] = series_json(plots.responses_again);
  row["outstanding"] =
      answered && plots.requests.added() > 0 ? series_json(plots.outstanding) : series_json({}, 0);
  row["rtt"] = series_json(plots.rtt);
  row["intervals"] = intervals_json(plots.intervals);
  row["latency_classes"] = latency_json(plots);
  return row;
}

// Tables.

Json connections_json(const ReportContents& contents) {
  const auto& sessions = contents.evidence.analyst.sessions();
  std::vector<const Session*> chosen;
  for (const Session& session : sessions)
    if (has_traffic(session, 0) || has_traffic(session, 1)) chosen.push_back(&session);
  const std::size_t all = chosen.size();
  if (all > kMostSessionRows) {
    chosen = worst_of(std::move(chosen), kMostSessionRows);
    std::ranges::sort(chosen, {}, &Session::number);
  }
  TableJson table;
  for (const Session* const session : chosen)
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}})
      if (has_traffic(*session, direction))
        table.add(
            session_row(contents.evidence.analyst, contents.evidence.points, *session, direction));
  return table.finish(all);
}

/// Number of anomalies of each kind in the page: the rare kinds get all they need first.
std::map<AnomalyKind, std::size_t> places_of(std::span<const Anomaly> anomalies) {
  std::map<AnomalyKind, std::size_t> counts;
  for (const Anomaly& anomaly : anomalies) ++counts[anomaly.kind];
  std::vector<std::pair<std::size_t, AnomalyKind>> rising;
  for (const auto& [kind, count] : counts) rising.emplace_back(count, kind);
  std::ranges::sort(rising);
  std::size_t left = kMostAnomalyRows, kinds = rising.size();
  for (const auto& [count, kind] : rising) {
    counts[kind] = std::min(count, left / kinds--);
    left -= counts[kind];
  }
  return counts;
}

/// The relative PSN of an anomaly, nearest to the PSNs sent at its time.
std::int64_t place_of(const Anomaly& anomaly, std::int64_t time, const DirectionPlots& plots,
                      const std::vector<SeriesPoint>& requests) {
  const auto behind = std::ranges::lower_bound(requests, time, {}, &SeriesPoint::time);
  const std::int64_t near = behind != requests.end() ? behind->value
                            : requests.empty()       ? 0
                                                     : requests.back().value;
  const auto there = static_cast<std::uint32_t>((plots.first_psn + near) & wire::Psn::kMask);
  return near + wire::Psn::distance(wire::Psn{there}, wire::Psn{anomaly.psn});
}

Json anomalies_json(const ReportContents& contents) {
  std::map<DirectionKey, std::vector<SeriesPoint>> requests;
  auto places = places_of(contents.evidence.anomalies);
  TableJson table;
  for (const Anomaly& anomaly : contents.evidence.anomalies) {
    if (places[anomaly.kind] == 0) continue;
    --places[anomaly.kind];
    Json row = anomaly_row(anomaly, contents.evidence.analyst, contents.evidence.points);
    row.erase("point");  // the table of connections has both
    row.erase("point_decided_by");
    const std::int64_t time = contents.plots.time_of(anomaly.stamp);
    row["time_ns"] = time;
    row["place"] = Json();
    row["words"] = anomaly_words(anomaly);
    if (const auto* const plots = contents.plots.find(anomaly.session, anomaly.direction)) {
      const auto [known, is_new] = requests.try_emplace({anomaly.session, anomaly.direction});
      if (is_new) known->second = plots->requests.points();
      row["place"] = place_of(anomaly, time, *plots, known->second);
    }
    table.add(row);
  }
  return table.finish(contents.evidence.anomalies.size() + contents.anomalies_beyond);
}

Json all_plots_json(const ReportContents& contents) {
  const auto sessions = contents.plots.worst(kMostPlottedSessions);
  std::map<DirectionKey, std::vector<const Anomaly*>> anomalies;
  for (const Session* const session : sessions)
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}})
      anomalies[{session->number, direction}] = {};
  for (const Anomaly& anomaly : contents.evidence.anomalies)
    if (const auto of = anomalies.find({anomaly.session, anomaly.direction}); of != anomalies.end())
      of->second.push_back(&anomaly);
  Json all = Json::array();
  for (const Session* const session : sessions)
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}}) {
      const DirectionPlots* const plots = contents.plots.find(session->number, direction);
      if (plots != nullptr && has_traffic(*session, direction))
        all.push_back(
            plots_json(*plots, *session, direction, anomalies[{session->number, direction}]));
    }
  return all;
}

Json messages_json(const MessageGroups& groups) {
  TableJson table;
  for (const auto& entry : groups) table.add(group_row(Grouping::operation, entry));
  return table.finish(groups.size());
}

/// The slowest commands, and a sentence about them; null: there are no commands.
Json commands_json(const ReportContents& contents) {
  if (contents.commands == nullptr) return nullptr;
  const CapturedCommands& all = *contents.commands;
  TableJson table;
  std::size_t listed = 0;
  for (const auto& each : all.commands) {
    const FoundCommand& found = *each;
    if (!found.command.ended || found.command.waits_for_event || ++listed > kMostCommands) break;
    Json row = report::json_of(CommandRow{found, all});
    row["time_ns"] = contents.plots.time_of(found.command.begin);
    table.add(row);
  }
  std::uint64_t of = all.fastest_left_out;
  of += static_cast<std::uint64_t>(std::ranges::count_if(all.commands, [](const auto& found) {
    return found->command.ended && !found->command.waits_for_event;
  }));
  Json data = table.finish(of);
  data["sentence"] = slowest_sentence(all);
  data["connections"] = facts_text(all);
  return data;
}

// Words.

/// The verdict in words: of the question whether it was congestion "yes" or "no".
std::string_view verdict_of(const Answer& answer, const Explanation& explanation) {
  return answer.question == OperatorQuestion::congestion ? name_of(explanation.congestion.answer)
                                                         : name_of(answer.health);
}

Json questions_json(const Explanation& explanation) {
  Json all = Json::array();
  for (const Answer& answer : explanation.answers) {
    Json row;
    row["question"] = name_of(answer.question);
    row["asks"] = text_of(answer.question);
    row["health"] = name_of(answer.health);
    row["verdict"] = verdict_of(answer, explanation);
    row["reason"] = answer.text;
    row["statements"] = answer.numbers;
    all.push_back(std::move(row));
  }
  return all;
}

Json statements_json(const Explanation& explanation) {
  Json all = Json::array();
  for (const Statement& statement : explanation.statements) {
    Json row;
    row["severity"] = name_of(statement.severity);
    row["topic"] = statement.topic;
    row["text"] = statement.text;
    row["frames"] = statement.frames;
    row["events"] = statement.events;
    all.push_back(std::move(row));
  }
  return all;
}

Json kinds_json(std::span<const Anomaly> anomalies) {
  std::set<AnomalyKind> kinds;
  for (const Anomaly& anomaly : anomalies) kinds.insert(anomaly.kind);
  Json words = Json::object();
  for (const AnomalyKind kind : kinds)
    words[std::string(analysis::name_of(kind))] = analysis::help_of(kind);
  return words;
}

/// The pictures of each two neighbouring points of a path: there and back.
Json path_json(const JoinedPath* joined) {
  Json segments = Json::array();
  if (joined == nullptr) return segments;
  const PathPoints& path = joined->path;
  for (std::size_t i = 0; i < path.segments.size(); ++i) {
    const std::vector<StampStep> steps = stamp_steps(path.segments[i].steps);
    const PicturedPair pair{path.points[i].records, Records(path.points[i + 1].records, steps),
                            path.segments[i], path.flows};
    Json pictures = Json::array();
    for (const bool goes_far : {true, false})
      if ((goes_far ? pair.found.near_to_far : pair.found.far_to_near).seen())
        pictures.push_back(direction_picture(pair, goes_far, path.segment_name(i, goes_far)));
    if (!pictures.empty()) segments.push_back(std::move(pictures));
  }
  return segments;
}

void add_words(Json& data, const Evidence& evidence) {
  const Explanation explanation = explain(evidence);
  data["questions"] = questions_json(explanation);
  data["overview"] = explanation.overview;
  data["nothing_is_wrong"] = explanation.nothing_is_wrong();
  data["statements"] = statements_json(explanation);
  data["unknown"] = explanation.unknown();
  data["kinds"] = kinds_json(evidence.anomalies);
}

}  // namespace

Json report_json(const ReportContents& contents) {
  const CaptureTotals& totals = contents.evidence.totals;
  Json data;
  data["schema"] = "longwire.report";
  data["version"] = 1;
  data["program"] = "roce-dissect " + std::string(app::program_version());
  data["files"] = contents.files;
  data["filter"] = contents.filter;
  data["frames"] = totals.frames;
  data["roce"] = totals.roce;
  data["start_ns"] = to_ns(contents.plots.start());
  data["span_ns"] = capture::stamp_difference(totals.last, totals.first).count();
  add_words(data, contents.evidence);
  data["connections"] = connections_json(contents);
  data["anomalies"] = anomalies_json(contents);
  data["messages"] = messages_json(contents.messages);
  data["plots"] = all_plots_json(contents);
  data["commands"] = commands_json(contents);
  data["path"] = path_json(contents.evidence.joined);
  return data;
}

}  // namespace lw::dissect

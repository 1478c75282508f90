// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_rows.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/quantity.h"
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
      if (path.empty() ? key != "expectations" : true)
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

std::string schema_name(const Json& report) {
  constexpr std::string_view kBegin = "longwire.";
  const std::string name = report.value("schema", "");
  return name.starts_with(kBegin) ? name.substr(kBegin.size()) : name;
}

// What was asked for.

std::string number_text(const Json& value) {
  if (value.is_string()) return value;
  return value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : value.dump();
}

std::string rate_of(const Json& rate) {
  const double value = rate["value"];
  const std::string unit = rate["unit"];
  if (!unit.starts_with("b/s")) return fmt::format("{:.6g} {}", value, unit);
  return format_bit_rate(value) + unit.substr(3);
}

void add_row(Json& rows, std::string what, std::string requested, std::string measured,
             Json holds = nullptr) {
  rows.push_back({{"what", std::move(what)},
                  {"requested", std::move(requested)},
                  {"measured", std::move(measured)},
                  {"holds", std::move(holds)}});
}

void add_expectations(Json& rows, const Json& report) {
  for (const Json& each : report.value("expectations", Json::array())) {
    const std::string of = each.value("of", ""), figure = each["figure"];
    add_row(
        rows, of.empty() ? figure : of + ": " + figure, each["expected"],
        each["measured"].is_null() ? each.value("error", "none") : number_text(each["measured"]),
        each["holds"]);
  }
}

/// Flows of a sender: the rates.
void add_flow_rates(Json& rows, const Json& report) {
  for (const Json& flow : report.value("flows", Json::array())) {
    if (!flow.contains("rate_asked")) continue;
    add_row(rows, flow.value("name", "") + ": rate", rate_of(flow["rate_asked"]),
            rate_of(flow["rate_achieved"]));
    add_row(rows, flow.value("name", "") + ": frames that the port did not take", "0",
            number_text(flow["not_sent"]), flow["not_sent"] == 0);
  }
}

/// A check of a stage: its statistics beside its parameters. It is not judged where too few frames
/// came.
void add_stage_check(Json& rows, const std::string& place, const Json& check) {
  add_row(rows,
          fmt::format("{}: {} {}, of {} frames", place, check.value("stage", ""),
                      check.value("what", ""), number_text(check["frames"])),
          number_text(check["asked"]),
          fmt::format("{} (allowed: {} to {})", number_text(check["seen"]),
                      number_text(check["low"]), number_text(check["high"])),
          check.value("enough", true) ? check["holds"] : Json());
}

/// Stages of an impairer, and those of configurations that a change has ended.
void add_stage_checks(Json& rows, const Json& report) {
  for (const Json& direction : report.value("directions", Json::array()))
    for (const Json& stages : direction.value("stages", Json::array()))
      for (const Json& check : stages["checks"])
        add_stage_check(rows, direction.value("name", "") + ", " + stages.value("rule", ""), check);
  for (const Json& ended : report.value("ended_audits", Json::array()))
    for (const Json& check : ended["checks"])
      add_stage_check(rows,
                      fmt::format("{}, {}, until {} ns", ended.value("direction", ""),
                                  ended.value("rule", ""), number_text(ended["to_ns"])),
                      check);
  for (const Json& run : report.value("run_audits", Json::array()))
    for (const Json& check : run["checks"])
      add_stage_check(rows,
                      fmt::format("{}, {}, over the whole run", run.value("direction", ""),
                                  run.value("rule", "")),
                      check);
}

void add_search(Json& rows, const Json& report) {
  if (!report.contains("sizes")) return;
  for (const Json& size : report["sizes"]) {
    const Json &passes = size["passes"], &fails = size["fails"];
    const std::string found = passes.is_null()
                                  ? "every rate failed"
                                  : fmt::format("{}, {:.6g} % of the highest",
                                                format_bit_rate(passes["wire_bps"].get<double>()),
                                                100 * passes["fraction"].get<double>());
    add_row(rows, number_text(size["message_size"]) + " B: highest rate that passes",
            fmt::format("loss of at most {:.6g} %", 100 * report["loss"].get<double>()),
            found + (fails.is_null()
                         ? "; none failed"
                         : "; fails at " + format_bit_rate(fails["wire_bps"].get<double>())));
  }
}

std::string usec_text(const Json& usec) { return fmt::format("{:.6g} us", usec.get<double>()); }

void add_perf(Json& rows, const Json& report) {
  const std::string size = report.contains("bytes") ? number_text(report["bytes"]) + " B: " : "";
  if (report.contains("bw_average_gbps") && report.contains("rate_bps"))
    add_row(rows, size + "rate of the link, and goodput",
            format_bit_rate(report["rate_bps"].get<double>()),
            fmt::format("{:.6g} Gb/s", report["bw_average_gbps"].get<double>()));
  if (report.contains("t_typical_usec") && report.contains("one_way_ns"))
    add_row(rows, size + "delay of the path one way, and typical latency",
            fmt::format("{:.6g} us", report["one_way_ns"].get<double>() / 1e3),
            usec_text(report["t_typical_usec"]));
  if (report.contains("failed"))
    add_row(rows, size + "work requests that failed", "0", number_text(report["failed"]),
            report["failed"] == 0);
}

/// Published figures beside those of an experiment.
void add_comparisons(Json& rows, const Json& report) {
  for (const Json& each : report.value("comparisons", Json::array()))
    add_row(rows,
            fmt::format("{}: {}, {}", each.value("scenario", ""), each.value("row", ""),
                        each.value("column", "")),
            "published: " + number_text(each["published"]), number_text(each["ours"]),
            each["holds"]);
}

// Accounts.

constexpr const char* kAmounts[] = {"received", "created",         "sent",
                                    "consumed", "dropped_by_rule", "in_flight"};

std::uint64_t frames_of(const Json& amount) { return amount["frames"].get<std::uint64_t>(); }

void add_account(Json& rows, const std::string& name, const Json& account) {
  std::uint64_t resource = 0;
  for (const auto& [reason, amount] : account["dropped_for_resource"].items())
    resource += frames_of(amount);
  Json row = Json::array({name});
  for (const char* key : kAmounts) {
    row.push_back(frames_of(account[key]));
    if (std::string_view(key) == "dropped_by_rule") row.push_back(resource);
  }
  row.push_back(account["holds"]);
  rows.push_back(std::move(row));
}

Json impairer_accounts(const Json& report) {
  Json rows = Json::array();
  for (const Json& direction : report["directions"]) {
    const std::string name = direction.value("name", "");
    add_account(rows, name, direction);
    for (const Json& rule : direction["rules"])
      add_account(rows, name + ", " + rule.value("name", ""), rule);
  }
  return {{"identity",
           "received + created = sent + consumed + dropped by a rule + dropped for want of a "
           "resource + in flight"},
          {"columns",
           {"Direction, rule", "Received", "Created", "Sent", "Consumed", "Dropped by a rule",
            "Dropped for want of a resource", "In flight", "Adds up"}},
          {"rows", std::move(rows)}};
}

/// Flows of a sender that were received too. `all_signed`: every frame carried a signature, so each
/// that came was counted in its flow.
Json returned_accounts(const Json& received, bool all_signed) {
  Json rows = Json::array(), columns = {"Flow", "Sent", "Received", "Duplicated", "Never came"};
  if (all_signed) columns.push_back("Adds up");
  for (const Json& flow : received["flows"]) {
    if (!flow.contains("never_came")) continue;
    const std::int64_t sent = flow["sent"], came = flow["frames"], copies = flow["duplicated"],
                       lost = flow["never_came"];
    Json row = {flow["name"], sent, came, copies, lost};
    if (all_signed) row.push_back(sent + copies == came + lost);
    rows.push_back(std::move(row));
  }
  return {{"identity", all_signed ? "sent + duplicated = received + never came" : ""},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

Json sender_accounts(const Json& report) {
  Json rows = Json::array();
  std::uint64_t frames = 0, not_sent = 0;
  for (const Json& flow : report["flows"]) {
    rows.push_back({flow["name"], flow["frames"], flow["not_sent"], nullptr});
    frames += flow["frames"].get<std::uint64_t>();
    not_sent += flow["not_sent"].get<std::uint64_t>();
  }
  rows.push_back({"all flows", report["frames"], report["not_sent"],
                  report["frames"] == frames && report["not_sent"] == not_sent});
  return {{"identity", "frames of all flows = frames of the run"},
          {"columns", {"Flow", "Sent", "Not taken by the port", "Adds up"}},
          {"rows", std::move(rows)}};
}

/// Ranks of a common run: clock, start, and what each sent.
Json rank_accounts(const Json& report) {
  Json rows = Json::array();
  std::uint64_t frames = 0;
  for (const Json& rank : report["ranks"]) {
    const Json received = rank.value("received", Json());
    rows.push_back({rank["rank"], rank["host"], rank["clock_ahead_ns"], rank["clock_bound_ns"],
                    rank["late_ns"], rank["sent"]["frames"], rank["sent"]["not_sent"],
                    received.is_null() ? Json() : received["roce"], nullptr});
    frames += rank["sent"]["frames"].get<std::uint64_t>();
  }
  rows.push_back({nullptr, "all ranks", nullptr, nullptr, nullptr, report["frames"],
                  report["not_sent"], nullptr, report["frames"] == frames});
  return {{"identity", "frames of all ranks = frames of the run"},
          {"columns",
           {"Rank", "Host", "Clock ahead of rank 0's, ns", "Its largest error, ns",
            "Started late, ns", "Sent", "Not taken by the port", "Received", "Adds up"}},
          {"rows", std::move(rows)}};
}

/// Ranks of perf: what each sent and received.
Json perf_rank_accounts(const Json& report) {
  Json rows = Json::array();
  std::uint64_t sent = 0, received = 0;
  for (const Json& rank : report["ranks"]) {
    rows.push_back({rank["rank"], rank["host"], rank["address"], rank["late_ns"], rank["bytes"],
                    rank["average_bps"], rank["retransmitted"], rank["received_bytes"]});
    sent += rank["bytes"].get<std::uint64_t>();
    received += rank["received_bytes"].get<std::uint64_t>();
  }
  rows.push_back(
      {nullptr, "all ranks", nullptr, nullptr, sent, report["total_bps"], nullptr, received});
  return {{"identity", ""},
          {"columns",
           {"Rank", "Host", "Address", "Started late, ns", "Bytes sent", "Rate, b/s",
            "Packets sent again", "Bytes received"}},
          {"rows", std::move(rows)}};
}

Json receiver_accounts(const Json& report) {
  Json rows = Json::array();
  for (const Json& flow : report["flows"])
    rows.push_back({flow["name"], flow["frames"], flow["lost"], flow["duplicated"],
                    flow["out_of_order"], flow["bad_icrc"]});
  return {{"identity", ""},
          {"columns", {"Flow", "Received", "Lost", "Duplicated", "Out of order", "Bad ICRC"}},
          {"rows", std::move(rows)}};
}

Json trial_accounts(const Json& report) {
  Json rows = Json::array();
  for (const Json& size : report["sizes"])
    for (const Json& trial : size["trials"]) {
      rows.push_back({size["message_size"], trial["fraction"], trial["sent"], trial["received"],
                      trial["lost"], trial["not_sent"], trial["passed"]});
    }
  return {{"identity", ""},
          {"columns",
           {"Message size", "Share of the highest rate", "Sent", "Received", "Lost", "Not sent",
            "Passed"}},
          {"rows", std::move(rows)}};
}

Json table_of(const Json& report, std::initializer_list<std::pair<const char*, const char*>> keys) {
  Json columns = Json::array(), row = Json::array();
  for (const auto& [key, title] : keys) {
    if (!report.contains(key)) continue;
    columns.push_back(title);
    row.push_back(report[key]);
  }
  return {{"identity", ""}, {"columns", std::move(columns)}, {"rows", Json::array({row})}};
}

// Checks.

void add_check(Json& rows, std::string text, Json holds) {
  rows.push_back({{"text", std::move(text)}, {"holds", std::move(holds)}});
}

/// The verdict on a profile's [expect], without what "expectations" has.
void add_verdict(Json& rows, const Json& verdict) {
  for (const Json& line : verdict.value("failures", Json::array())) add_check(rows, line, false);
  if (verdict["holds"].get<bool>()) add_check(rows, "All bounds of [expect] hold.", true);
  for (const Json& key : verdict["unchecked"])
    add_check(rows, "Not checked in this run: " + key.get<std::string>(), nullptr);
  for (const Json& line : verdict.value("not_judged", Json::array()))
    add_check(rows, "Cannot be judged: " + line.get<std::string>(), nullptr);
}

}  // namespace

Json figure_rows(const Json& report, std::size_t most, const JsonOutput* output) {
  Json rows = Json::array();
  FigureList list(rows, most);
  const Json schema = output ? schema_of(*output) : Json::object();
  list.add(report, &schema, {});
  return {{"rows", std::move(rows)}, {"of", list.all()}};
}

Json requested_rows(const Json& report) {
  Json rows = Json::array();
  add_flow_rates(rows, report);
  add_stage_checks(rows, report);
  if (report.value("schema", "") == "longwire.rate_search") add_search(rows, report);
  add_perf(rows, report);
  add_comparisons(rows, report);
  add_expectations(rows, report);
  return rows;
}

Json account_tables(const Json& report) {
  const std::string name = schema_name(report);
  Json tables = Json::array();
  if (name == "impair_run") tables.push_back(impairer_accounts(report));
  if (name == "ranks") tables.push_back(rank_accounts(report));
  if (name == "perf_ranks") tables.push_back(perf_rank_accounts(report));
  const bool sends = name == "send" || name == "ranks";
  if (sends) tables.push_back(sender_accounts(report));
  if (sends && report.contains("received"))
    tables.push_back(returned_accounts(report["received"], report["unsigned_frames"] == 0));
  if (name == "receive") tables.push_back(receiver_accounts(report));
  if (name == "rate_search") tables.push_back(trial_accounts(report));
  if (name == "perf_bandwidth")
    tables.push_back(table_of(report, {{"bytes", "Message size"},
                                       {"iterations", "Messages"},
                                       {"packets", "Packets sent"},
                                       {"retransmitted", "Sent again"},
                                       {"lost", "Lost on the path"},
                                       {"tail_dropped", "Dropped at its queue"},
                                       {"failed", "Work requests that failed"}}));
  if (name == "send_replay")
    tables.push_back(table_of(report, {{"read", "Read from the capture"},
                                       {"frames", "Sent"},
                                       {"not_sent", "Not taken by the port"},
                                       {"left_out", "Left out: not RoCE"},
                                       {"cut", "Left out: cut in the capture"},
                                       {"too_long", "Left out: too long for the port"}}));
  return tables;
}

Json check_rows(const Json& report, const JsonOutput* output) {
  constexpr std::string_view kHold = "_hold", kHolds = "_holds";
  Json rows = Json::array();
  const Json schema = output ? schema_of(*output) : Json::object();
  for (const auto& [key, value] : report.items())
    if (value.is_boolean() && (key.ends_with(kHold) || key.ends_with(kHolds))) {
      const std::string help = description_of(child_schema(&schema, key, false));
      add_check(rows, help.empty() ? key : fmt::format("{} ({})", help, key), value);
    }
  if (report.contains("expect")) add_verdict(rows, report["expect"]);
  for (const Json& line : report.value("broken", Json::array())) add_check(rows, line, false);
  if (report.contains("start"))
    add_check(rows, "The ranks started within --start-skew, with the error of their clocks.",
              report["start"]["holds"]);
  for (const Json& row : requested_rows(report))
    if (row["holds"] == false)
      add_check(rows,
                fmt::format("{}: requested {}, measured {}", row.value("what", ""),
                            row.value("requested", ""), row.value("measured", "")),
                false);
  if (report.contains("interrupted"))
    add_check(rows, "Ended early: " + number_text(report["interrupted"]), false);
  return rows;
}

}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/flow_report.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/report/run_report.h"
#include "report/json_line.h"
#include "report/table.h"
#include "roce/message.h"

namespace lw::gen {
namespace {

using config::Metric;
using report::Json;

std::string address_text(const std::array<std::byte, 16>& bytes) {
  return wire::to_string(ip_of(wire::Ipv6Address{bytes}));
}

const Histogram* latency_of(const ReceiveFlow& flow) {
  if (!flow.signature || flow.signature->latency.count() == 0) return nullptr;
  return &flow.signature->latency;
}

/// Number of distinct frames that the sender sent, as far as a receiver can tell.
double frames_due(const ReceiveFlow& flow) {
  const std::uint64_t unique = flow.frames - std::min(flow.frames, flow.order.duplicated);
  return static_cast<double>(std::max<std::uint64_t>(1, unique + flow.order.lost));
}

std::optional<double> share_of(const ReceiveFlow& flow, Metric metric) {
  const double frames =
      static_cast<double>(std::max<std::uint64_t>(1, flow.frames + flow.bad_icrc));
  switch (metric) {
    case Metric::loss:
      return static_cast<double>(flow.order.lost) / frames_due(flow);
    case Metric::duplicated:
      return static_cast<double>(flow.order.duplicated) / frames;
    case Metric::out_of_order:
      return static_cast<double>(flow.order.out_of_order) / frames;
    case Metric::bad_icrc:
      return static_cast<double>(flow.bad_icrc) / frames;
    case Metric::ce_marks:
      return static_cast<double>(flow.ce_marks) / frames;
    default:
      return std::nullopt;
  }
}

std::optional<double> time_of(const ReceiveFlow& flow, Metric metric) {
  const Histogram* latency = latency_of(flow);
  if (latency == nullptr) return std::nullopt;
  const auto quantile = [&](double q) { return static_cast<double>(latency->quantile(q)); };
  switch (metric) {
    case Metric::latency_mean:
      return latency->mean();
    case Metric::p50:
      return quantile(0.5);
    case Metric::p90:
      return quantile(0.9);
    case Metric::p99:
      return quantile(0.99);
    case Metric::p99_9:
      return quantile(0.999);
    case Metric::p99_99:
      return quantile(0.9999);
    case Metric::latency_max:
      return static_cast<double>(latency->maximum());
    case Metric::jitter:
      return flow.signature->jitter.ns();
    default:
      return std::nullopt;
  }
}

Json latency_json(const Histogram& latency) {
  return {{"count", latency.count()},         {"min", latency.minimum()},
          {"mean", latency.mean()},           {"p50", latency.quantile(0.5)},
          {"p90", latency.quantile(0.9)},     {"p99", latency.quantile(0.99)},
          {"p99_9", latency.quantile(0.999)}, {"p99_99", latency.quantile(0.9999)},
          {"max", latency.maximum()}};
}

Json reordering_json(const analysis::OrderCounts& order) {
  if (!order.extents) return {{"max_extent", 0}, {"extents", Json::array()}};
  Json buckets = Json::array();
  for (const auto& b : order.extents->occupied()) buckets.push_back({b.first, b.last, b.count});
  return {{"max_extent", order.extents->maximum()}, {"extents", std::move(buckets)}};
}

std::string time_text(double ns) {
  return format_duration(Duration{static_cast<std::int64_t>(ns)});
}

void add_latency_row(report::Table& table, const std::string& name, const ReceiveFlow& flow) {
  const Histogram* latency = latency_of(flow);
  if (latency == nullptr) return;
  const auto at = [&](double q) { return time_text(static_cast<double>(latency->quantile(q))); };
  table.add_row({name, time_text(static_cast<double>(latency->minimum())),
                 time_text(latency->mean()), at(0.5), at(0.99), at(0.999), at(0.9999),
                 time_text(static_cast<double>(latency->maximum())),
                 time_text(flow.signature->jitter.ns())});
}

report::Table order_table(Measured measured) {
  using report::Align;
  std::vector<report::Table::Column> columns = {{"flow", Align::left}};
  for (const char* title : {"frames", "bytes", "lost", "duplicated", "out of order", "extent"})
    columns.push_back({title, Align::right});
  if (measured == Measured::frames)
    for (const char* title : {"bad ICRC", "CE"}) columns.push_back({title, Align::right});
  return report::Table(columns);
}

void add_order_row(report::Table& table, const std::string& name, const ReceiveFlow& flow,
                   Measured measured) {
  const analysis::OrderCounts& order = flow.order;
  const std::int64_t extent = order.extents ? order.extents->maximum() : 0;
  std::vector<std::string> row = {name,
                                  fmt::to_string(flow.frames),
                                  fmt::to_string(flow.bytes),
                                  fmt::to_string(order.lost),
                                  fmt::to_string(order.duplicated),
                                  fmt::to_string(order.out_of_order),
                                  fmt::to_string(extent)};
  if (measured == Measured::frames)
    for (const std::uint64_t count : {flow.bad_icrc, flow.ce_marks})
      row.push_back(fmt::to_string(count));
  table.add_row(std::move(row));
}

report::Table latency_table() {
  using report::Align;
  std::vector<report::Table::Column> columns = {{"latency", Align::left}};
  for (const char* title : {"min", "mean", "p50", "p99", "p99.9", "p99.99", "max", "jitter"}) {
    columns.push_back({title, Align::right});
  }
  return report::Table(columns);
}

/// Streams that came, for a look-up by what identifies a flow of a profile.
class ArrivedStreams {
 public:
  explicit ArrivedStreams(const Measurement& measurement) {
    for (const ReceiveFlow& flow : measurement.flows()) {
      if (flow.stream.is_signed) {
        signed_.insert(flow.stream.key.dest_qp);
      } else {
        plain_.insert(flow.stream);
      }
    }
  }
  [[nodiscard]] bool contain(std::uint32_t flow) const { return signed_.contains(flow); }
  [[nodiscard]] bool contain(const StreamKey& stream) const { return plain_.contains(stream); }

 private:
  std::unordered_set<std::uint32_t> signed_;
  std::unordered_set<StreamKey, StreamKeyHash> plain_;
};

}  // namespace

std::vector<AbsentFlow> absent_flows(const config::FlowProfile& profile,
                                     const Measurement& measurement) {
  const ArrivedStreams arrived(measurement);
  std::vector<AbsentFlow> absent;
  for (const config::Flow& flow : profile.flows) {
    if (flow.signature && arrived.contain(flow.id)) continue;
    // Frames too short for a signature are a stream of their own.
    const StreamKey stream = plain_stream(flow);
    if (arrived.contain(stream)) continue;
    AbsentFlow& added = absent.emplace_back();
    added.id = flow.id;
    added.expected.stream = stream;
    added.expected.stream.is_signed = flow.signature;
    added.expected.opcode = packet_of(flow.message, 0).opcode;
    if (flow.signature) added.expected.stream.key.dest_qp = flow.id;
  }
  return absent;
}

FlowNames names_in(const config::FlowProfile& profile) {
  FlowNames names;
  for (const config::Flow& flow : profile.flows) names.push_back(flow.name);
  return names;
}

std::string name_of(const ReceiveFlow& flow, const FlowNames& names) {
  const auto& key = flow.stream.key;
  if (flow.stream.is_signed) {
    return key.dest_qp < names.size() ? names[key.dest_qp] : fmt::format("flow {}", key.dest_qp);
  }
  const auto* info = wire::find_opcode(flow.opcode);
  return fmt::format("{} {} QP {:#x}", wire::name_of(info->transport), wire::name_of(key.role),
                     key.dest_qp);
}

std::string source_of(const ReceiveFlow& flow) { return address_text(flow.stream.key.source); }
std::string destination_of(const ReceiveFlow& flow) {
  return address_text(flow.stream.key.destination);
}

std::optional<double> value_of(const ReceiveFlow& flow, Metric metric) {
  return config::is_time(metric) ? time_of(flow, metric) : share_of(flow, metric);
}

Json to_json(const ReceiveFlow& flow, const FlowNames& names) {
  const auto& key = flow.stream.key;
  Json json = {{"name", name_of(flow, names)}, {"signed", flow.stream.is_signed}};
  json[flow.stream.is_signed ? "flow" : "dst_qp"] = key.dest_qp;
  if (!flow.stream.is_signed) json["role"] = wire::name_of(key.role);
  json.update({{"source", source_of(flow)},
               {"destination", destination_of(flow)},
               {"frames", flow.frames},
               {"bytes", flow.bytes},
               {"lost", flow.order.lost},
               {"duplicated", flow.order.duplicated},
               {"out_of_order", flow.order.out_of_order},
               {"reordering", reordering_json(flow.order)},
               {"retransmitted", flow.order.retransmitted},
               {"beyond_window", flow.order.beyond_window},
               {"restarts", flow.order.restarts},
               {"icrc_checked", flow.icrc_checked + flow.bad_icrc},
               {"bad_icrc", flow.bad_icrc},
               {"ce_marks", flow.ce_marks},
               {"acks", flow.acks},
               {"sequence_naks", flow.sequence_naks},
               {"rnr_naks", flow.rnr_naks},
               {"other_naks", flow.other_naks},
               {"elapsed_ns", (flow.last - flow.first).count()}});
  if (const Histogram* latency = latency_of(flow)) {
    json["latency_ns"] = latency_json(*latency);
    json["jitter_ns"] = flow.signature->jitter.ns();
    json["sender_clock"] = clock_name(flow.signature->clock);
  }
  if (flow.signature) json["signature_version"] = flow.signature->version;
  return json;
}

std::string flow_table(const Measurement& measurement, const FlowNames& names, std::size_t most,
                       Measured measured, std::span<const AbsentFlow> absent) {
  auto order = order_table(measured);
  auto latencies = latency_table();
  const auto& flows = measurement.flows();
  std::size_t shown = 0;
  for (const ReceiveFlow& flow : flows) {
    if (shown++ >= most) break;
    const std::string name = name_of(flow, names);
    add_order_row(order, name, flow, measured);
    if (measured == Measured::frames || measurement.latency_doubt(flow).empty())
      add_latency_row(latencies, name, flow);
  }
  for (const AbsentFlow& flow : absent)
    if (shown++ < most)
      add_order_row(order, name_of(flow.expected, names), flow.expected, measured);
  std::string text = order.empty() ? "" : order.to_string();
  if (!latencies.empty()) text += latencies.to_string();
  const std::size_t all = flows.size() + absent.size();
  if (all > most) text += fmt::format("and {} flows more\n", all - most);
  return text;
}

std::string histogram_csv(const Measurement& measurement, const FlowNames& names) {
  std::string csv = "flow,first,last,count\n";
  for (const ReceiveFlow& flow : measurement.flows()) {
    const Histogram* latency = latency_of(flow);
    if (latency == nullptr) continue;
    for (const auto& b : latency->occupied()) {
      csv += fmt::format("{},{},{},{}\n", report::csv_field(name_of(flow, names)), b.first, b.last,
                         b.count);
    }
  }
  return csv;
}

std::string to_text(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names, std::span<const AbsentFlow> absent) {
  constexpr std::size_t kMostRows = 100;
  const MeasureTotals& totals = measurement.totals();
  std::string text = flow_table(measurement, names, kMostRows, Measured::frames, absent);
  text += fmt::format("{} frames, {} of them RoCE, {} in {}; {} missed\n", totals.frames,
                      totals.roce, format_bytes(static_cast<double>(totals.bytes)),
                      format_duration(report.elapsed), report.missed);
  for (const ReceiveFlow& flow : measurement.flows()) {
    const std::string doubt = measurement.latency_doubt(flow);
    if (doubt.empty()) continue;
    text += fmt::format("latencies mean nothing: of {}, {}\n", name_of(flow, names), doubt);
    break;
  }
  if (!report.clock.empty()) text += fmt::format("latencies by {}\n", report.clock);
  if (!report.interrupted.empty()) text += fmt::format("ended early: {}\n", report.interrupted);
  text += fmt::format("{} ICRCs checked, {} bad", totals.icrc_checked, totals.bad_icrc);
  if (totals.malformed > 0) text += fmt::format("; {} malformed", totals.malformed);
  if (totals.crowded_out > 0) text += fmt::format("; {} of too many flows", totals.crowded_out);
  return text + "\n";
}

std::string to_json(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names, std::span<const AbsentFlow> absent,
                    const Verdict* verdict) {
  const MeasureTotals& totals = measurement.totals();
  Json json = {{"frames", totals.frames},
               {"roce", totals.roce},
               {"bytes", totals.bytes},
               {"missed", report.missed},
               {"elapsed_ns", report.elapsed.count()},
               {"malformed", totals.malformed},
               {"crowded_out", totals.crowded_out},
               {"icrc_checked", totals.icrc_checked},
               {"bad_icrc", totals.bad_icrc}};
  if (!report.clock.empty()) json["clock"] = report.clock;
  if (!report.interrupted.empty()) json["interrupted"] = report.interrupted;
  auto& flows = json["flows"] = Json::array();
  for (const ReceiveFlow& flow : measurement.flows()) flows.push_back(to_json(flow, names));
  for (const AbsentFlow& flow : absent) flows.push_back(to_json(flow.expected, names));
  if (verdict != nullptr) json["expect"] = to_json(*verdict);
  return report::json_line("longwire.receive", json);
}

}  // namespace lw::gen

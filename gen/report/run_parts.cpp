// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_parts.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/json.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"

namespace lw::gen {
namespace {

using report::Json;

// A table of the numbers of a struct is a function that calls use("key", number) for each; with
// these it serves both directions. Times are in ns.

/// Puts numbers, times and arrays of numbers into an object.
struct PutNumbers {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& value) const {
    if constexpr (requires { value.count(); })
      json[key] = value.count();
    else
      json[key] = value;
  }
};

/// Gets them back. Throws an exception of nlohmann-json: a key is missing, or another type.
struct GetNumbers {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& value) const {
    if constexpr (requires { value.count(); })
      value = T{json.at(key).get<typename T::rep>()};
    else
      value = json.at(key).get<T>();
  }
};

Duration time_in(const Json& json) { return Duration{json.get<Duration::rep>()}; }

Json histogram_json(const Histogram& histogram) {
  Json buckets = Json::array();
  for (const auto& [first, last, count] : histogram.occupied()) buckets.push_back({first, count});
  return {{"min", histogram.minimum()},
          {"max", histogram.maximum()},
          {"sum", histogram.sum()},
          {"buckets", std::move(buckets)}};
}

Histogram histogram_of(const Json& json) {
  std::vector<Histogram::Sample> buckets;
  for (const Json& bucket : json.at("buckets"))
    buckets.push_back({bucket.at(0).get<std::int64_t>(), bucket.at(1).get<std::uint64_t>()});
  return Histogram::restored(buckets, json.at("min").get<std::int64_t>(),
                             json.at("max").get<std::int64_t>(), json.at("sum").get<double>());
}

/// The counters of FlowCounters and their keys, in one place for both directions.
template <class Counters, class Use>
void each_counter(Counters& counters, Use use) {
  use("frames", counters.frames);
  use("bytes", counters.bytes);
  use("wire_bytes", counters.wire_bytes);
  use("payload_bytes", counters.payload_bytes);
  use("messages", counters.messages);
  use("unsigned_frames", counters.unsigned_frames);
  use("begin", counters.begin);
  use("span", counters.span);
  use("late", counters.late);
  use("shared", counters.shared);
  use("not_sent", counters.not_sent);
  use("faults", counters.faults);
}

/// Those of ReceiveFlow that are plain numbers.
template <class Flow, class Use>
void each_count(Flow& flow, Use use) {
  use("opcode", flow.opcode);
  use("run", flow.run);
  use("frames", flow.frames);
  use("bytes", flow.bytes);
  use("icrc_checked", flow.icrc_checked);
  use("ce_marks", flow.ce_marks);
  use("bad_icrc", flow.bad_icrc);
  use("acks", flow.acks);
  use("sequence_naks", flow.sequence_naks);
  use("rnr_naks", flow.rnr_naks);
  use("other_naks", flow.other_naks);
  use("lost", flow.order.lost);
  use("duplicated", flow.order.duplicated);
  use("out_of_order", flow.order.out_of_order);
  use("retransmitted", flow.order.retransmitted);
  use("beyond_window", flow.order.beyond_window);
  use("restarts", flow.order.restarts);
}

template <class Totals, class Use>
void each_total(Totals& totals, Use use) {
  use("frames", totals.frames);
  use("bytes", totals.bytes);
  use("roce", totals.roce);
  use("malformed", totals.malformed);
  use("icrc_checked", totals.icrc_checked);
  use("bad_icrc", totals.bad_icrc);
  use("crowded_out", totals.crowded_out);
  use("latencies_not_counted", totals.latencies_not_counted);
}

Json reasons_of(const NotSent& frames) { return frames.frames; }
NotSent reasons_in(const Json& json) {
  return {json.get<std::array<std::uint64_t, kNotSentReasons>>()};
}

Json sent_json(const RunReport& sent) {
  Json flows = Json::array(), ports = Json::array();
  for (const FlowCounters& counters : sent.flows)
    each_counter(counters, PutNumbers{flows.emplace_back(Json::object())});
  for (const PortLosses& port : sent.ports)
    ports.push_back({{"port", port.port},
                     {"refused", reasons_of(port.refused)},
                     {"lost", reasons_of(port.lost)}});
  Json json{{"elapsed", sent.elapsed.count()},
            {"started_late", sent.started_late.count()},
            {"missed", sent.missed},
            {"flows", std::move(flows)},
            {"ports", std::move(ports)},
            {"pacing", histogram_json(sent.audit.pacing_error)},
            {"icrc_checked", sent.audit.icrc_checked},
            {"bad_icrc", sent.audit.bad_icrc},
            {"skipped", sent.caught_up.skipped.count()},
            {"stalls", sent.caught_up.stalls},
            {"run", sent.run},
            {"clock", sent.clock}};
  json["pace"] = {{"behind", sent.pace.behind.count()},
                  {"worst_second", sent.pace.worst_second},
                  {"worst_at", sent.pace.worst_at.count()}};
  json["machine"] = report::json_of(sent.machine);
  json["ended_by"] = static_cast<int>(sent.ended_by);
  if (sent.duration) json["duration"] = sent.duration->count();
  if (sent.catch_up) json["catch_up"] = sent.catch_up->count();
  return json;
}

std::vector<int> numbers_of(const std::array<std::byte, 16>& address) {
  std::vector<int> numbers;
  for (const std::byte byte : address) numbers.push_back(static_cast<int>(byte));
  return numbers;
}

std::array<std::byte, 16> address_in(const Json& json) {
  std::array<std::byte, 16> address{};
  for (std::size_t i = 0; i < address.size(); ++i)
    address[i] = std::byte{json.at(i).get<std::uint8_t>()};
  return address;
}

Json flow_json(const ReceiveFlow& flow) {
  const roce::FlowKey& key = flow.stream.key;
  Json json{{"source", numbers_of(key.source)},
            {"destination", numbers_of(key.destination)},
            {"dest_qp", key.dest_qp},
            {"role", static_cast<int>(key.role)},
            {"source_qp", flow.stream.source_qp},
            {"is_signed", flow.stream.is_signed},
            {"next", flow.tracker.next()},
            {"first", to_ns(flow.first)},
            {"last", to_ns(flow.last)}};
  each_count(flow, PutNumbers{json});
  if (flow.order.extents) json["extents"] = histogram_json(*flow.order.extents);
  if (flow.signature)
    json["signature"] = {{"latency", histogram_json(flow.signature->latency)},
                         {"jitter", flow.signature->jitter.ns()},
                         {"clock", flow.signature->clock},
                         {"version", flow.signature->version},
                         {"left_out", flow.signature->left_out}};
  return json;
}

ReceiveFlow flow_in(const Json& json) {
  ReceiveFlow flow;
  flow.stream = {.key = {.source = address_in(json.at("source")),
                         .destination = address_in(json.at("destination")),
                         .dest_qp = json.at("dest_qp").get<std::uint32_t>(),
                         .role = static_cast<wire::Role>(json.at("role").get<int>())},
                 .source_qp = json.at("source_qp").get<std::uint32_t>(),
                 .is_signed = json.at("is_signed").get<bool>()};
  flow.tracker = analysis::SequenceTracker(json.at("next").get<std::uint64_t>());
  flow.first = instant_from_ns(json.at("first").get<std::int64_t>());
  flow.last = instant_from_ns(json.at("last").get<std::int64_t>());
  each_count(flow, GetNumbers{json});
  if (json.contains("extents"))
    flow.order.extents = std::make_unique<Histogram>(histogram_of(json["extents"]));
  if (!json.contains("signature")) return flow;
  const Json& part = json["signature"];
  flow.signature = std::make_unique<SignedPart>();
  flow.signature->latency = histogram_of(part.at("latency"));
  flow.signature->jitter = JitterEstimate(part.at("jitter").get<double>());
  flow.signature->clock = part.at("clock").get<std::uint8_t>();
  flow.signature->version = part.at("version").get<std::uint8_t>();
  flow.signature->left_out = part.at("left_out").get<std::uint64_t>();
  return flow;
}

Json received_json(const Measurement& received) {
  Json totals, flows = Json::array();
  each_total(received.totals(), PutNumbers{totals});
  for (const ReceiveFlow& flow : received.flows()) flows.push_back(flow_json(flow));
  return {{"totals", std::move(totals)}, {"flows", std::move(flows)}};
}

void add_sent(RunReport& whole, std::size_t rank, const Json& json,
              const std::vector<std::uint32_t>& ids) {
  const Json& flows = json.at("flows");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    each_counter(whole.flows.at(ids[i]), GetNumbers{flows.at(i)});
    whole.rank_of_flow.at(ids[i]) = static_cast<std::uint16_t>(rank);
  }
  for (const Json& port : json.at("ports"))
    whole.ports.push_back(
        {fmt::format("{}: {}", whole.hosts.at(rank), port.at("port").get<std::string>()),
         reasons_in(port.at("refused")), reasons_in(port.at("lost"))});
  whole.elapsed = std::max(whole.elapsed, Duration{json.at("elapsed").get<Duration::rep>()});
  SendAudit audit;
  audit.pacing_error = histogram_of(json.at("pacing"));
  audit.icrc_checked = json.at("icrc_checked").get<std::uint64_t>();
  audit.bad_icrc = json.at("bad_icrc").get<std::uint64_t>();
  whole.audit.add(audit);
  const Json& pace = json.at("pace");
  whole.pace.add({.behind = time_in(pace.at("behind")),
                  .worst_second = pace.at("worst_second").get<double>(),
                  .worst_at = time_in(pace.at("worst_at"))});
  Machine machine;
  if (const auto read = report::read_json(json.at("machine"), machine); !read)
    throw std::runtime_error(read.error());
  whole.machine.add(of_host(std::move(machine), whole.hosts.at(rank)));
  whole.ended_by = std::max(whole.ended_by,
                            static_cast<EndedBy>(std::clamp(json.at("ended_by").get<int>(), 0, 4)));
  if (json.contains("duration")) whole.duration = time_in(json["duration"]);
  if (json.contains("catch_up")) whole.catch_up = Duration{json["catch_up"].get<Duration::rep>()};
  whole.caught_up.skipped =
      std::max(whole.caught_up.skipped, Duration{json.at("skipped").get<Duration::rep>()});
  whole.caught_up.stalls += json.at("stalls").get<std::uint64_t>();
}

MeasureTotals add_received(Measurement& whole, std::size_t rank, const Json& json) {
  MeasureTotals totals;
  each_total(totals, GetNumbers{json.at("totals")});
  whole.adopt(totals);
  for (const Json& each : json.at("flows")) {
    ReceiveFlow flow = flow_in(each);
    flow.rank = static_cast<std::uint16_t>(rank);
    whole.adopt(std::move(flow));
  }
  return totals;
}

}  // namespace

std::string part_text(const RunReport& sent, const Measurement* received) {
  Json json = sent_json(sent);
  if (received != nullptr) json["received"] = received_json(*received);
  return report::json_line(json);
}

WholeRun::WholeRun(std::size_t flows, std::vector<std::string> hosts, const MeasureOptions& measure)
    : received(measure), parts(hosts.size()) {
  sent.flows.resize(flows);
  sent.rank_of_flow.resize(flows);
  sent.hosts = std::move(hosts);
}

Result<void> WholeRun::add(std::size_t rank, std::string_view text,
                           const std::vector<std::uint32_t>& ids) {
  try {
    const Json json = parse_json(text);
    add_sent(sent, rank, json, ids);
    PartSums& sums = parts.at(rank).emplace();
    sums.started_late = Duration{json.at("started_late").get<Duration::rep>()};
    sums.missed = json.at("missed").get<std::uint64_t>();
    if (!json.contains("received")) return {};
    receives = true;
    sums.received = add_received(received, rank, json["received"]);
    return {};
  } catch (const std::exception& error) {  // a missing key, another type
    return fail(fmt::format("its results can't be read: {}", error.what()), ExitCode::failed);
  }
}

}  // namespace lw::gen

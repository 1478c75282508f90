// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/handover.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "core/json.h"
#include "core/printable.h"
#include "report/json_line.h"

namespace lw::gen::handover {
namespace {

using report::Json;
using wire::Operation, wire::Transport;

constexpr const char* kSchema = "longwire-handover";
constexpr std::uint64_t k24Bits = 0xffffff, k32Bits = 0xffffffff, kAll = ~std::uint64_t{0};

// The names are those of perf's options.
constexpr std::array<std::pair<std::string_view, Transport>, 3> kTransports = {
    {{"rc", Transport::rc}, {"uc", Transport::uc}, {"ud", Transport::ud}}};
constexpr std::array<std::pair<std::string_view, Operation>, 5> kOperations = {
    {{"write", Operation::write},
     {"send", Operation::send},
     {"read", Operation::read_request},
     {"atomic", Operation::fetch_add},
     {"compare-swap", Operation::cmp_swap}}};

constexpr std::array<std::pair<std::string_view, bool>, 2> kEncapsulations = {
    {{"rocev2", false}, {"rocev1", true}}};

template <class Words, class T>
std::string_view word_of(const Words& words, T value) noexcept {
  for (const auto& [word, meaning] : words)
    if (meaning == value) return word;
  return "";
}

Json json_of(const std::vector<Qp>& qps) {
  Json list = Json::array();
  for (const Qp& qp : qps)
    list.push_back({{"qpn", qp.qpn}, {"psn", qp.psn}, {"va", qp.va}, {"r_key", qp.r_key}});
  return list;
}

std::string line_with(const char* kind, const Json& fields) {
  Json json = {{"schema", kSchema}, {"version", kVersion}, {"kind", kind}};
  json.update(fields);
  return report::json_line(json);
}

/// Returns a value for an error message, in ASCII, shortened if it is long.
std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// Reads the fields of one line; keeps the first error, and returns defaults after it.
class FieldReader {
 public:
  FieldReader(Json json, std::string kind) : json_(std::move(json)), kind_(std::move(kind)) {}

  std::uint64_t number(const char* name, std::uint64_t low, std::uint64_t high) {
    const Json* field = find(name);
    if (field == nullptr) return low;
    if (field->is_number_unsigned()) {
      const auto value = field->get<std::uint64_t>();
      if (value >= low && value <= high) return value;
    }
    return wrong(name, fmt::format("a whole number from {} to {}", low, high), *field), low;
  }
  template <class T>
  void number(const char* name, T& target, std::uint64_t low, std::uint64_t high) {
    target = static_cast<T>(number(name, low, high));
  }
  /// Keeps the default if the field is not there.
  template <class T>
  void number_if_any(const char* name, T& target, std::uint64_t low, std::uint64_t high) {
    if (json_.is_object() && json_.contains(name)) number(name, target, low, high);
  }
  void flag_if_any(const char* name, bool& target) {
    if (json_.is_object() && json_.contains(name)) flag(name, target);
  }
  void flag(const char* name, bool& target) {
    const Json* field = find(name);
    if (field == nullptr) return;
    if (!field->is_boolean()) return wrong(name, "true or false", *field);
    target = field->get<bool>();
  }
  void text(const char* name, std::string& target) {
    const Json* field = find(name);
    if (field == nullptr) return;
    if (!field->is_string()) return wrong(name, "a string", *field);
    target = field->get<std::string>();
  }
  /// A text that is shown.
  void shown_text(const char* name, std::string& target) {
    std::string found;
    text(name, found);
    target = printable(found, kMostShown);
  }
  void mtu(std::uint32_t& target) {
    number("mtu", target, kLeastMtu, kMostMtu);
    if (!std::has_single_bit(target)) {
      refuse(fmt::format("\"mtu\": expected 256, 512, 1024, 2048 or 4096, found {}", target));
    }
  }
  template <class Words, class T>
  void word(const char* name, const Words& words, T& target) {
    std::string found, all;
    text(name, found);
    for (const auto& [known, meaning] : words) {
      if (known == found) return void(target = meaning);
      all.append(all.empty() ? "" : ", ").append(known);
    }
    wrong(name, "one of " + all, Json(found));
  }
  void gid(wire::Ipv6Address& target) {
    std::string found;
    text("gid", found);
    const auto address = wire::parse_ip(found);
    if (address) return void(target = wire::gid_of(*address));
    wrong("gid", "an IPv6 address, or ::ffff: and an IPv4 address", Json(found));
  }
  void qps(std::vector<Qp>& target) {
    for (const Json& each : list("qps", 1)) {
      FieldReader reader(each, kind_ + ": qps");
      Qp qp;
      reader.number("qpn", qp.qpn, 0, k24Bits);
      reader.number("psn", qp.psn, 0, k24Bits);
      reader.number("va", qp.va, 0, kAll);
      reader.number("r_key", qp.r_key, 0, k32Bits);
      if (error_.empty()) error_ = reader.error_;
      target.push_back(qp);
    }
  }
  void numbers(const char* name, std::vector<std::uint64_t>& target, std::size_t low) {
    for (const Json& each : list(name, low)) {
      if (!each.is_number_unsigned()) return wrong(name, "whole numbers", each);
      target.push_back(each.get<std::uint64_t>());
    }
  }
  void signatures(SignatureCounts& target) {
    const Json* field = find("signatures");
    if (field == nullptr) return;
    FieldReader reader(*field, kind_ + ": signatures");
    reader.number("frames", target.frames, 0, kAll);
    reader.number("unsigned_frames", target.unsigned_frames, 0, kAll);
    reader.number("lost", target.lost, 0, kAll);
    reader.number("duplicated", target.duplicated, 0, kAll);
    reader.number("out_of_order", target.out_of_order, 0, kAll);
    if (error_.empty()) error_ = reader.error_;
  }
  void counters(std::vector<std::pair<std::string, std::uint64_t>>& target) {
    const Json* field = find("counters");
    if (field == nullptr) return;
    if (!field->is_object()) return wrong("counters", "an object", *field);
    for (const auto& [name, value] : field->items()) {
      if (!value.is_number_unsigned()) return wrong("counters", "whole numbers", value);
      if (printable(name, kMostShown) != name) return wrong("counters", "plain names", Json(name));
      target.emplace_back(name, value.template get<std::uint64_t>());
    }
  }
  void refuse(std::string reason) {
    if (error_.empty()) error_ = fmt::format("{}: {}", kind_, std::move(reason));
  }

  template <class T>
  Result<T> result(T value) const {
    if (!error_.empty()) return fail(error_, ExitCode::failed);
    return value;
  }

 private:
  const Json* find(const char* name) {
    const auto at = json_.is_object() ? json_.find(name) : json_.end();
    if (json_.is_object() && at != json_.end()) return &*at;
    refuse(fmt::format("expected a field \"{}\"", name));
    return nullptr;
  }
  const Json& list(const char* name, std::size_t low) {
    static const Json kNone = Json::array();
    const Json* field = find(name);
    if (field == nullptr) return kNone;
    if (field->is_array() && field->size() >= low && field->size() <= kMostQps) return *field;
    wrong(name, fmt::format("a list of {} to {}", low, kMostQps),
          field->is_array() ? Json(field->size()) : *field);
    return kNone;
  }
  void wrong(const char* name, const std::string& expected, const Json& found) {
    refuse(fmt::format("\"{}\": expected {}, found {}", name, expected, shown(found)));
  }

  Json json_;
  std::string kind_, error_;
};

/// Parses a line of this kind. Errors: those of read_hello().
Result<FieldReader> open_line(std::string_view line, const char* kind) {
  const auto no = [&](const std::string& why) {
    return fail(fmt::format("{}: {}", kind, why), ExitCode::failed);
  };
  if (line.size() > kMostBytes)
    return no(
        fmt::format("expected a line of at most {} bytes, found {}", kMostBytes, line.size()));
  Json json = parse_json(line);
  if (!json.is_object()) {
    const std::string_view start = line.substr(0, 40);
    return no(fmt::format("expected a line of JSON, found {}",
                          shown(Json(std::string(start.substr(0, start.find('\n')))))));
  }
  const Json schema = json.value("schema", Json{}), version = json.value("version", Json{});
  if (schema != kSchema)
    return no(fmt::format("expected the schema \"{}\", found {}", kSchema, shown(schema)));
  if (version != kVersion)
    return no(
        fmt::format("this side speaks version {}, the other side {}; use the same release on "
                    "both sides",
                    kVersion, shown(version)));
  const Json found = json.value("kind", Json{});
  if (found == "refusal") {
    const Json reason = json.value("reason", Json{});
    return fail(fmt::format("refused by the server: {}",
                            reason.is_string() ? printable(reason.get<std::string>(), kMostShown)
                                               : "without a reason"),
                ExitCode::failed);
  }
  if (found != kind)
    return no(fmt::format("expected \"kind\":\"{}\", found {}", kind, shown(found)));
  return FieldReader(std::move(json), kind);
}

}  // namespace

std::string line_of(const Hello& hello) {
  const SessionParams& params = hello.params;
  Json fields = {{"token", hello.token},
                 {"transport", word_of(kTransports, params.transport)},
                 {"operation", word_of(kOperations, params.operation)},
                 {"immediate", params.immediate},
                 {"echo", params.echo},
                 {"read_back", params.read_back},
                 {"bytes", params.size},
                 {"slots", params.slots},
                 {"depth", params.depth},
                 {"count", hello.count},
                 {"checked", hello.checked},
                 {"signatures", hello.signatures},
                 {"payload_crcs", hello.payload_crcs},
                 {"mtu", hello.mtu},
                 {"timeout", hello.timeout},
                 {"retries", hello.retries},
                 {"rnr_retries", hello.rnr_retries},
                 {"gid", wire::to_string(hello.gid)},
                 {"qps", json_of(hello.qps)}};
  if (const QpClass& traffic = hello.traffic; traffic != QpClass{})
    fields.update({{"traffic_class", traffic.traffic_class},
                   {"hop_limit", traffic.hop_limit},
                   {"service_level", traffic.service_level},
                   {"flow_label", traffic.flow_label},
                   {"p_key", traffic.p_key}});
  if (params.both)
    fields.update({{"both", true},
                   {"duration_ns", hello.duration.count()},
                   {"margin_ns", hello.margin.count()}});
  return line_with("hello", fields);
}

std::string line_of(const Offer& offer) {
  return line_with("offer", {{"gid", wire::to_string(offer.gid)},
                             {"encapsulation", word_of(kEncapsulations, offer.rocev1)},
                             {"mtu", offer.mtu},
                             {"q_key", offer.q_key},
                             {"max_rd_atomic", offer.max_rd_atomic},
                             {"va", offer.va},
                             {"size", offer.size},
                             {"r_key", offer.r_key},
                             {"qps", json_of(offer.qps)}});
}

std::string line_of(const Done& done) {
  return line_with("done", {{"messages", done.messages},
                            {"bytes", done.bytes},
                            {"signed_frames", done.signed_frames},
                            {"stopped", done.stopped},
                            {"elapsed_ns", done.elapsed_ns},
                            {"average_bps", done.average_bps},
                            {"steady_bps", done.steady_bps},
                            {"peak_bps", done.peak_bps}});
}

std::string line_of(const Report& report) {
  Json counters = Json::object();
  for (const auto& [name, value] : report.counters) counters[name] = value;
  const SignatureCounts& read = report.signatures;
  const Json signatures = {{"frames", read.frames},
                           {"unsigned_frames", read.unsigned_frames},
                           {"lost", read.lost},
                           {"duplicated", read.duplicated},
                           {"out_of_order", read.out_of_order}};
  return line_with("report", {{"checked", report.stats.checked},
                              {"wrong", report.stats.wrong},
                              {"duplicates", report.stats.duplicates},
                              {"out_of_sequence", report.stats.out_of_sequence},
                              {"cnps", report.stats.cnps},
                              {"dropped", report.stats.dropped},
                              {"counted", report.counted},
                              {"messages", report.messages},
                              {"bytes", report.bytes},
                              {"errors", report.errors},
                              {"failure", report.failure},
                              {"signatures", signatures},
                              {"counters", counters}});
}

std::string refusal_line(std::string_view reason) {
  return line_with("refusal", {{"reason", reason}});
}

Result<void> check_encapsulation(const Offer& offer, bool rocev1) {
  if (offer.rocev1 == rocev1) return {};
  return fail(
      fmt::format("the device's GID {} is of {}, and this side sends {}: give another --gid "
                  "there; roce-gen perf and telemetry have --encapsulation",
                  wire::to_string(offer.gid), word_of(kEncapsulations, offer.rocev1),
                  word_of(kEncapsulations, rocev1)),
      ExitCode::environment);
}

namespace {

/// Whether a side may send as the other does: it then has memory for `depth` messages of each QP,
/// twice as many where they take receives, and the slots, which have a limit, are no fewer.
bool fits_both_ways(const SessionParams& params) noexcept {
  const bool receives = params.takes_receive();
  const std::uint64_t in_flight = (receives ? 2 : 1) * std::uint64_t{params.depth};
  return !params.lossy() && !params.echo && !params.read_back && in_flight <= params.slots;
}

}  // namespace

Result<Hello> read_hello(std::string_view line) {
  auto fields = open_line(line, "hello");
  if (!fields) return std::unexpected(fields.error());
  Hello hello;
  SessionParams& params = hello.params;
  fields->text("token", hello.token);
  fields->word("transport", kTransports, params.transport);
  fields->word("operation", kOperations, params.operation);
  fields->flag("immediate", params.immediate);
  fields->flag("echo", params.echo);
  fields->flag_if_any("both", params.both);
  fields->flag("read_back", params.read_back);
  fields->number("bytes", params.size, 1, kMostMessage);
  fields->number("slots", params.slots, 1, kMostSlots);
  fields->number("depth", params.depth, 1, kMostDepth);
  fields->number("count", hello.count, 0, kAll);
  const auto most = static_cast<std::uint64_t>(kMostRun.count());
  std::uint64_t duration = 0, margin = 0;
  fields->number_if_any("duration_ns", duration, 0, most);
  fields->number_if_any("margin_ns", margin, 0, duration == 0 ? 0 : (duration - 1) / 2);
  hello.duration = Duration(duration);
  hello.margin = Duration(margin);
  fields->flag("checked", hello.checked);
  fields->flag("signatures", hello.signatures);
  fields->numbers("payload_crcs", hello.payload_crcs, 0);
  fields->mtu(hello.mtu);
  fields->number("timeout", hello.timeout, 0, 31);
  fields->number("retries", hello.retries, 0, 7);
  fields->number("rnr_retries", hello.rnr_retries, 0, 7);
  fields->number_if_any("traffic_class", hello.traffic.traffic_class, 0, 255);
  fields->number_if_any("hop_limit", hello.traffic.hop_limit, 1, 255);
  fields->number_if_any("service_level", hello.traffic.service_level, 0, 7);
  fields->number_if_any("flow_label", hello.traffic.flow_label, 0, 0xfffff);
  fields->number_if_any("p_key", hello.traffic.p_key, 1, 0xffff);
  fields->gid(hello.gid);
  fields->qps(hello.qps);
  if (const std::size_t crcs = hello.payload_crcs.size(); crcs != 0 && crcs != 2)
    fields->refuse(fmt::format("\"payload_crcs\": expected none or 2, found {}", crcs));
  if (hello.checked && hello.signatures)
    fields->refuse("\"signatures\": messages with signatures are not \"checked\"");
  if (params.both && !fits_both_ways(params))
    fields->refuse(
        "\"both\": expected rc without an echo, and a slot for each message in flight, two if it "
        "takes a receive");
  if (!check(params))
    fields->refuse(fmt::format(
        "{} of {} bytes{} is not possible with {}", word_of(kOperations, params.operation),
        params.size, params.echo ? " with an echo" : "", word_of(kTransports, params.transport)));
  return fields->result(std::move(hello));
}

Result<Offer> read_offer(std::string_view line) {
  auto fields = open_line(line, "offer");
  if (!fields) return std::unexpected(fields.error());
  Offer offer;
  fields->gid(offer.gid);
  fields->word("encapsulation", kEncapsulations, offer.rocev1);
  fields->mtu(offer.mtu);
  fields->number("q_key", offer.q_key, 0, k32Bits);
  fields->number("max_rd_atomic", offer.max_rd_atomic, 0, k32Bits);
  fields->number("va", offer.va, 0, kAll);
  fields->number("size", offer.size, 0, kAll - offer.va);
  fields->number("r_key", offer.r_key, 0, k32Bits);
  fields->qps(offer.qps);
  return fields->result(std::move(offer));
}

Result<Done> read_done(std::string_view line) {
  auto fields = open_line(line, "done");
  if (!fields) return std::unexpected(fields.error());
  Done done;
  fields->numbers("messages", done.messages, 1);
  fields->number("bytes", done.bytes, 0, kAll);
  fields->numbers("signed_frames", done.signed_frames, 0);
  fields->flag_if_any("stopped", done.stopped);
  fields->number_if_any("average_bps", done.average_bps, 0, kAll);
  fields->number_if_any("elapsed_ns", done.elapsed_ns, 0,
                        static_cast<std::uint64_t>(kMostRun.count()));
  fields->number_if_any("steady_bps", done.steady_bps, 0, kAll);
  fields->number_if_any("peak_bps", done.peak_bps, 0, kAll);
  return fields->result(std::move(done));
}

Result<Report> read_report(std::string_view line) {
  auto fields = open_line(line, "report");
  if (!fields) return std::unexpected(fields.error());
  Report report;
  fields->number("checked", report.stats.checked, 0, kAll);
  fields->number("wrong", report.stats.wrong, 0, kAll);
  fields->number("duplicates", report.stats.duplicates, 0, kAll);
  fields->number("out_of_sequence", report.stats.out_of_sequence, 0, kAll);
  fields->number("cnps", report.stats.cnps, 0, kAll);
  fields->number("dropped", report.stats.dropped, 0, kAll);
  fields->flag("counted", report.counted);
  fields->number("messages", report.messages, 0, kAll);
  fields->number("bytes", report.bytes, 0, kAll);
  fields->number("errors", report.errors, 0, kAll);
  fields->shown_text("failure", report.failure);
  fields->signatures(report.signatures);
  fields->counters(report.counters);
  return fields->result(std::move(report));
}

const FigureTable& SignatureCounts::figures() {
  using Row = FigureOf<SignatureCounts>;
  static constexpr Figure kRows[] = {
      Row::of<&SignatureCounts::frames>("frames", "Signed frames that came.", Unit::frames),
      Row::of<&SignatureCounts::unsigned_frames>("unsigned_frames", "Frames without a signature.",
                                                 Unit::frames),
      Row::of<&SignatureCounts::lost>("lost", "Frames that did not come.", Unit::frames),
      Row::of<&SignatureCounts::duplicated>("duplicated", "Frames that came more than once.",
                                            Unit::frames),
      Row::of<&SignatureCounts::out_of_order>("out_of_order", "Frames that came after a newer one.",
                                              Unit::frames)};
  static constexpr FigureTable kTable{"What the signatures show.", kRows};
  return kTable;
}

}  // namespace lw::gen::handover

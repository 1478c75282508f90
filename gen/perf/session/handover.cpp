// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/handover.h"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "core/json.h"
#include "core/printable.h"
#include "perf/words.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"

namespace lw::gen::handover {
namespace {

using report::Json, report::shown;

constexpr const char* kSchema = "longwire-handover";
constexpr std::uint64_t k24Bits = 0xffffff, kAll = ~std::uint64_t{0};

constexpr std::array<std::pair<std::string_view, bool>, 2> kEncapsulations = {
    {{"rocev2", false}, {"rocev1", true}}};

struct Refusal {
  std::string reason;
  static const FigureTable& figures();
};

std::string gid_text(const wire::Ipv6Address& gid) { return wire::to_string(gid); }

Parsed<wire::Ipv6Address> read_gid(std::string_view text) {
  const auto address = wire::parse_ip(text);
  if (address) return wire::gid_of(*address);
  return std::unexpected("expected an IPv6 address, or ::ffff: and an IPv4 address, found " +
                         shown(Json(text)));
}

template <class T>
std::string line_with(const char* kind, const T& fields) {
  Json json = {{"schema", kSchema}, {"version", kVersion}, {"kind", kind}};
  json.update(report::json_of(fields));
  return report::json_line(json);
}

std::unexpected<Error> refused(const char* kind, const std::string& why) {
  return fail(fmt::format("{}: {}", kind, why), ExitCode::failed);
}

/// Parses a line of this kind. Errors: those of read_hello().
Result<Json> open_line(std::string_view line, const char* kind) {
  const auto no = [&](const std::string& why) { return refused(kind, why); };
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
  return json;
}

template <class T>
Result<T> read_line(std::string_view line, const char* kind) {
  const auto json = open_line(line, kind);
  if (!json) return std::unexpected(json.error());
  T fields;
  if (const auto read = report::read_json(*json, fields); !read) return refused(kind, read.error());
  return fields;
}

/// Whether a side may send as the other does: it then has memory for `depth` messages of each QP,
/// twice as many where they take receives, and the slots, which have a limit, are no fewer.
bool fits_both_ways(const SessionParams& params) noexcept {
  const bool receives = params.takes_receive();
  const std::uint64_t in_flight = (receives ? 2 : 1) * std::uint64_t{params.depth};
  return !params.lossy() && !params.echo && !params.read_back && in_flight <= params.slots;
}

bool is_mtu(std::uint32_t bytes) noexcept {
  return bytes >= kLeastMtu && bytes <= kMostMtu && std::has_single_bit(bytes);
}

std::string wrong_mtu(std::uint32_t mtu) {
  return fmt::format("\"mtu\": expected 256, 512, 1024, 2048 or 4096, found {}", mtu);
}

/// What is wrong with fields that are within their bounds; empty: nothing.
std::string fault_of(const Hello& hello) {
  const SessionParams& params = hello.params;
  if (hello.margin > Duration{} && 2 * hello.margin >= hello.duration)
    return "\"margin_ns\": expected less than half of \"duration_ns\"";
  if (!is_mtu(hello.mtu)) return wrong_mtu(hello.mtu);
  if (const std::size_t crcs = hello.payload_crcs.size(); crcs != 0 && crcs != 2)
    return fmt::format("\"payload_crcs\": expected none or 2, found {}", crcs);
  if (hello.checked && hello.signatures)
    return "\"signatures\": messages with signatures are not \"checked\"";
  if (params.both && !fits_both_ways(params))
    return "\"both\": expected rc without an echo, and a slot for each message in flight, two if "
           "it takes a receive";
  if (check(params)) return {};
  return fmt::format("{} of {} bytes{} is not possible with {}",
                     perf::operation_word(params.operation), params.size,
                     params.echo ? " with an echo" : "",
                     name_among(perf::kTransportWords, params.transport));
}

std::string fault_of(const Offer& offer) {
  if (!is_mtu(offer.mtu)) return wrong_mtu(offer.mtu);
  if (offer.size > kAll - offer.va)
    return fmt::format("\"size\": expected a whole number from 0 to {}, found {}", kAll - offer.va,
                       offer.size);
  return {};
}

/// Reads a line whose fields depend on each other.
template <class T>
Result<T> read_checked(std::string_view line, const char* kind) {
  auto fields = read_line<T>(line, kind);
  if (!fields) return fields;
  if (const std::string fault = fault_of(*fields); !fault.empty()) return refused(kind, fault);
  return fields;
}

}  // namespace

std::string line_of(const Hello& hello) { return line_with("hello", hello); }
std::string line_of(const Offer& offer) { return line_with("offer", offer); }
std::string line_of(const Done& done) { return line_with("done", done); }
std::string line_of(const Report& report) { return line_with("report", report); }
std::string refusal_line(std::string_view reason) {
  return line_with("refusal", Refusal{std::string(reason)});
}

Result<void> check_encapsulation(const Offer& offer, bool rocev1) {
  if (offer.rocev1 == rocev1) return {};
  return fail(
      fmt::format("the device's GID {} is of {}, and this side sends {}: give another --gid "
                  "there; roce-gen perf and telemetry have --encapsulation",
                  wire::to_string(offer.gid), name_among(kEncapsulations, offer.rocev1),
                  name_among(kEncapsulations, rocev1)),
      ExitCode::environment);
}

Result<Hello> read_hello(std::string_view line) { return read_checked<Hello>(line, "hello"); }
Result<Offer> read_offer(std::string_view line) { return read_checked<Offer>(line, "offer"); }
Result<Done> read_done(std::string_view line) { return read_line<Done>(line, "done"); }
Result<Report> read_report(std::string_view line) {
  auto report = read_line<Report>(line, "report");
  if (report) report->failure = printable(report->failure, kMostShown);  // it is shown
  return report;
}

const FigureTable& Qp::figures() {
  using Row = FigureOf<Qp>;
  static constexpr Figure kRows[] = {
      Row::of<&Qp::qpn>("qpn", "Number of the QP.").from(0, k24Bits),
      Row::of<&Qp::psn>("psn", "PSN of the first packet that it sends.").from(0, k24Bits),
      Row::of<&Qp::va>("va", "Address of slot 0."), Row::of<&Qp::r_key>("r_key", "Its key.")};
  static constexpr FigureTable kTable{"A QP of one side.", kRows};
  return kTable;
}

const FigureTable& Hello::figures() {
  using Row = FigureOf<Hello>;
  static constexpr Figure kRows[] = {
      Row::of<&Hello::token>("token", "Identity of the client."),
      Row::with_table<&Hello::params, &SessionParams::of_messages>(),
      Row::of<&Hello::count>("count", "Messages of each QP; 0: unknown."),
      Row::of<&Hello::duration>("duration_ns", "Length of a run both ways.", Unit::ns)
          .from(0, kMostRun.count())
          .if_any(),
      Row::of<&Hello::margin>("margin_ns", "Time at its begin and end that is left out.", Unit::ns)
          .from(0, kMostRun.count())
          .if_any(),
      Row::of<&Hello::checked>("checked", "The server compares the messages."),
      Row::of<&Hello::signatures>("signatures", "The packets have signatures."),
      Row::of<&Hello::payload_crcs>("payload_crcs", "CRC-32 behind the signatures.").from(0, 2),
      Row::of<&Hello::mtu>("mtu", "Path MTU.", Unit::bytes).from(kLeastMtu, kMostMtu),
      Row::of<&Hello::timeout>("timeout", "Local ACK timeout of the server's QPs.").from(0, 31),
      Row::of<&Hello::retries>("retries", "Retries of the server's QPs.").from(0, 7),
      Row::of<&Hello::rnr_retries>("rnr_retries", "RNR retries of the server's QPs.").from(0, 7),
      Row::rows_of<&Hello::traffic>(),
      Row::text<&Hello::gid, gid_text, read_gid>("gid", "GID of the client."),
      Row::of<&Hello::qps>("qps", "QPs of the client.").from(1, kMostQps)};
  static constexpr FigureTable kTable{"The client's first line.", kRows};
  return kTable;
}

const FigureTable& Offer::figures() {
  using Row = FigureOf<Offer>;
  static constexpr Figure kRows[] = {
      Row::text<&Offer::gid, gid_text, read_gid>("gid", "GID of the server."),
      Row::word<&Offer::rocev1, kEncapsulations>("encapsulation", "Encapsulation of the frames."),
      Row::of<&Offer::mtu>("mtu", "Path MTU.", Unit::bytes).from(kLeastMtu, kMostMtu),
      Row::of<&Offer::q_key>("q_key", "Q_Key of UD."),
      Row::of<&Offer::max_rd_atomic>("max_rd_atomic", "READs and atomics at once, per QP."),
      Row::of<&Offer::va>("va", "Begin of the region."),
      Row::of<&Offer::size>("size", "Size of the region.", Unit::bytes),
      Row::of<&Offer::r_key>("r_key", "Its key."),
      Row::of<&Offer::qps>("qps", "QPs of the server.").from(1, kMostQps)};
  static constexpr FigureTable kTable{"The server's answer.", kRows};
  return kTable;
}

const FigureTable& Done::figures() {
  using Row = FigureOf<Done>;
  static constexpr Figure kRows[] = {
      Row::of<&Done::messages>("messages", "Messages of each QP.").from(1, kMostQps),
      Row::of<&Done::bytes>("bytes", "Bytes of all.", Unit::bytes),
      Row::of<&Done::signed_frames>("signed_frames", "Frames of each QP with a signature.")
          .from(0, kMostQps),
      Row::of<&Done::stopped>("stopped", "A signal ended the run early.").if_any(),
      Row::of<&Done::elapsed_ns>("elapsed_ns", "Length of the server's own run.", Unit::ns)
          .from(0, kMostRun.count())
          .if_any(),
      Row::of<&Done::average_bps>("average_bps", "Its rate.", Unit::bits_per_second).if_any(),
      Row::of<&Done::steady_bps>("steady_bps", "Its steady rate.", Unit::bits_per_second).if_any(),
      Row::of<&Done::peak_bps>("peak_bps", "Its highest rate.", Unit::bits_per_second).if_any()};
  static constexpr FigureTable kTable{"The last line of a side that sends.", kRows};
  return kTable;
}

const FigureTable& Report::figures() {
  using Row = FigureOf<Report>;
  static constexpr Figure kRows[] = {
      Row::rows_of<&Report::stats>(),
      Row::of<&Report::counted>("counted", meaning::kCounted),
      Row::of<&Report::messages>("messages", meaning::kMessages),
      Row::of<&Report::bytes>("bytes", meaning::kBytes, Unit::bytes),
      Row::of<&Report::errors>("errors", meaning::kErrors),
      Row::of<&Report::failure>("failure", meaning::kFailure),
      Row::of<&Report::signatures>("signatures", meaning::kSignatures),
      Row::of<&Report::counters>("counters", meaning::kCounters)};
  static constexpr FigureTable kTable{"The server's last line.", kRows};
  return kTable;
}

const FigureTable& Refusal::figures() {
  using Row = FigureOf<Refusal>;
  static constexpr Figure kRows[] = {Row::of<&Refusal::reason>("reason", "Why.")};
  static constexpr FigureTable kTable{"The server's refusal.", kRows};
  return kTable;
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
  static constexpr FigureTable kTable{meaning::kSignatures, kRows};
  return kTable;
}

}  // namespace lw::gen::handover

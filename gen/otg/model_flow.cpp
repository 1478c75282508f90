// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/model_flow.h"

namespace lw::gen::otg {
namespace {

using std::string_view;

constexpr string_view kEnds[] = {"port", "device"};
constexpr string_view kModes[] = {"mesh", "one_to_one"};
constexpr string_view kHeaders[] = {"custom", "ethernet", "vlan", "ipv4", "ipv6", "udp"};
constexpr string_view kChecksums[] = {"generated", "custom"};
constexpr string_view kGenerated[] = {"good", "bad"};
constexpr string_view kPriorities[] = {"raw", "tos", "dscp"};
constexpr string_view kSizes[] = {"fixed", "increment", "random", "weight_pairs"};
constexpr string_view kWeights[] = {"predefined", "custom"};
constexpr string_view kMixes[] = {"imix", "ipsec_imix", "ipv6_imix", "standard_imix", "tcp_imix"};
constexpr string_view kRates[] = {"pps", "bps", "kbps", "mbps", "gbps", "percentage"};
constexpr string_view kTimes[] = {"bytes", "nanoseconds", "microseconds"};
constexpr string_view kDurations[] = {"fixed_packets", "fixed_seconds", "burst", "continuous"};
constexpr string_view kPayloads[] = {"fixed", "increment_byte", "decrement_byte", "increment_word",
                                     "decrement_word"};

constexpr string_view kNoHeader = "frames have ethernet, vlan, ipv4, ipv6, udp and custom headers";
constexpr string_view kPaced = "frames are paced by `rate`, with Ethernet's least gap";
constexpr string_view kWholeFlow = "a flow is counted as a whole";

template <class T>
void set_path(void* object, const std::string& path) {
  static_cast<T*>(object)->path = path;
}

template <class T>
Patterns& fields_of(void* object) {
  return static_cast<T*>(object)->fields;
}
Patterns& raw_of(void* object) { return static_cast<PriorityField*>(object)->raw; }

/// A message of the fields of a header, and of other rows.
struct HeaderMessage {
  HeaderMessage(string_view name, std::vector<Field> fields, std::span<const Field> more)
      : rows(std::move(fields)) {
    rows.insert(rows.end(), more.begin(), more.end());
    message = {name, rows};
  }
  std::vector<Field> rows;
  ModelMessage message;
};

template <HeaderKind kind, class Header>
const ModelMessage& message_of_header(std::span<const Field> more = {}) {
  static const HeaderMessage kMessage(table_of(kind).name, pattern_rows<kind, fields_of<Header>>(),
                                      more);
  return kMessage.message;
}

}  // namespace

const ModelMessage& FlowPort::message() {
  using Row = ModelRowOf<FlowPort>;
  static constexpr Field kRows[] = {
      Row::of<&FlowPort::tx_name>("tx_name", "port that sends").needed(),
      Row::of<&FlowPort::rx_name>("rx_name", "port that receives"),
      Row::of<&FlowPort::rx_names>("rx_names",
                                   "ports that receive; neither: the flow is only sent")};
  static constexpr ModelMessage kMessage{"Flow.Port", kRows, set_path<FlowPort>};
  return kMessage;
}

const ModelMessage& FlowRouter::message() {
  using Row = ModelRowOf<FlowRouter>;
  static constexpr Field kRows[] = {
      Row::of<&FlowRouter::mode>("mode",
                                 "mesh: from each to each; one_to_one: to the one at the same "
                                 "place of the list; the pairs take turns")
          .among(kModes)
          .standard("mesh"),
      Row::of<&FlowRouter::tx_names>("tx_names", "addresses that send, all at one port").needed(),
      Row::of<&FlowRouter::rx_names>("rx_names", "addresses that receive").needed(),
      Row::only("bidirectional", "false", "the other direction is a flow of its own")};
  static constexpr ModelMessage kMessage{"Flow.Router", kRows, set_path<FlowRouter>};
  return kMessage;
}

const ModelMessage& FlowTxRx::message() {
  using Row = ModelRowOf<FlowTxRx>;
  static constexpr Field kRows[] = {
      Row::of<&FlowTxRx::choice>("choice", "kind of the ends").among(kEnds).standard("port"),
      Row::of<&FlowTxRx::port>("port", "ports"),
      Row::of<&FlowTxRx::device>("device", "addresses of devices")};
  static constexpr ModelMessage kMessage{"Flow.TxRx", kRows};
  return kMessage;
}

const ModelMessage& CustomHeader::message() {
  using Row = ModelRowOf<CustomHeader>;
  static constexpr Field kRows[] = {
      Row::of<&CustomHeader::bytes>("bytes", "bytes in hexadecimal; spaces and colons do not count")
          .needed(),
      Row::refused("metric_tags", kWholeFlow)};
  static constexpr ModelMessage kMessage{"Flow.Custom", kRows, set_path<CustomHeader>};
  return kMessage;
}

namespace {

using ChecksumRow = ModelRowOf<ChecksumField>;
constexpr Field kChecksumRows[] = {
    ChecksumRow::of<&ChecksumField::choice>("choice", "how it is set")
        .among(kChecksums)
        .standard("generated"),
    ChecksumRow::of<&ChecksumField::generated>("generated", "bad: one bit is wrong")
        .among(kGenerated)
        .standard("good"),
    ChecksumRow::of<&ChecksumField::custom>("custom", "value of all frames").from(0, 65535)};

}  // namespace

const ModelMessage& ChecksumField::of_ipv4() {
  static constexpr ModelMessage kMessage{"Pattern.Flow.Ipv4.HeaderChecksum", kChecksumRows};
  return kMessage;
}

const ModelMessage& ChecksumField::of_udp() {
  static constexpr ModelMessage kMessage{"Pattern.Flow.Udp.Checksum", kChecksumRows};
  return kMessage;
}

const ModelMessage& SimpleHeader::of_ethernet() {
  using Row = ModelRowOf<SimpleHeader>;
  static constexpr Field kMore[] = {Row::refused("pfc_queue", "a port has one queue")};
  return message_of_header<HeaderKind::ethernet, SimpleHeader>(kMore);
}

const ModelMessage& SimpleHeader::of_vlan() {
  return message_of_header<HeaderKind::vlan, SimpleHeader>();
}

const ModelMessage& SimpleHeader::of_ipv6() {
  using Row = ModelRowOf<SimpleHeader>;
  static constexpr Field kMore[] = {Row::refused("dst_usids", "`dst` has the whole address")};
  return message_of_header<HeaderKind::ipv6, SimpleHeader>(kMore);
}

const ModelMessage& SimpleHeader::of_tos() {
  return message_of_header<HeaderKind::tos, SimpleHeader>();
}

const ModelMessage& SimpleHeader::of_dscp() {
  return message_of_header<HeaderKind::dscp, SimpleHeader>();
}

const ModelMessage& UdpHeader::message() {
  using Row = ModelRowOf<UdpHeader>;
  static constexpr Field kMore[] = {Row::with<&UdpHeader::checksum, &ChecksumField::of_udp>(
      "checksum", "checksum; absent in a RoCEv2 frame: 0")};
  return message_of_header<HeaderKind::udp, UdpHeader>(kMore);
}

const ModelMessage& PriorityField::message() {
  using Row = ModelRowOf<PriorityField>;
  static constexpr Field kMore[] = {
      Row::of<&PriorityField::choice>("choice", "which meaning of the byte is used")
          .among(kPriorities)
          .standard("dscp"),
      Row::with<&PriorityField::tos, &SimpleHeader::of_tos>("tos", "type of service"),
      Row::with<&PriorityField::dscp, &SimpleHeader::of_dscp>("dscp", "DSCP and ECN")};
  static const HeaderMessage kMessage("Flow.Ipv4.Priority", pattern_rows<HeaderKind::raw, raw_of>(),
                                      kMore);
  return kMessage.message;
}

const ModelMessage& Ipv4Header::message() {
  using Row = ModelRowOf<Ipv4Header>;
  static constexpr Field kMore[] = {
      Row::of<&Ipv4Header::priority>("priority", "second byte of the header"),
      Row::with<&Ipv4Header::checksum, &ChecksumField::of_ipv4>("header_checksum", "checksum"),
      Row::refused("options", "`custom` after the header has any bytes; set header_length, too")};
  return message_of_header<HeaderKind::ipv4, Ipv4Header>(kMore);
}

const ModelMessage& FlowHeader::message() {
  using Row = ModelRowOf<FlowHeader>;
  static constexpr Field kRows[] = {
      Row::of<&FlowHeader::choice>("choice", "kind of the header")
          .among(kHeaders)
          .standard("ethernet"),
      Row::of<&FlowHeader::custom>("custom", "any bytes, such as a BTH and what follows it"),
      Row::with<&FlowHeader::ethernet, &SimpleHeader::of_ethernet>("ethernet", "the first header"),
      Row::with<&FlowHeader::vlan, &SimpleHeader::of_vlan>("vlan", "a tag: two at most"),
      Row::refused("vxlan", kNoHeader),
      Row::of<&FlowHeader::ipv4>("ipv4", "IPv4"),
      Row::with<&FlowHeader::ipv6, &SimpleHeader::of_ipv6>("ipv6", "IPv6"),
      Row::refused("pfcpause", kNoHeader),
      Row::refused("ethernetpause", kNoHeader),
      Row::refused("tcp", kNoHeader),
      Row::of<&FlowHeader::udp>("udp", "UDP"),
      Row::refused("gre", kNoHeader),
      Row::refused("gtpv1", kNoHeader),
      Row::refused("gtpv2", kNoHeader),
      Row::refused("arp", kNoHeader),
      Row::refused("icmp", kNoHeader),
      Row::refused("icmpv6", kNoHeader),
      Row::refused("ppp", kNoHeader),
      Row::refused("igmpv1", kNoHeader),
      Row::refused("mpls", kNoHeader),
      Row::refused("snmpv2c", kNoHeader),
      Row::refused("rsvp", kNoHeader),
      Row::refused("macsec", kNoHeader),
      Row::refused("lacp", kNoHeader),
      Row::refused("ipv6_extension_header", kNoHeader),
      Row::refused("cfm", kNoHeader)};
  static constexpr ModelMessage kMessage{"Flow.Header", kRows, set_path<FlowHeader>};
  return kMessage;
}

const ModelMessage& SizeIncrement::message() {
  using Row = ModelRowOf<SizeIncrement>;
  static constexpr double kMost = 4294967295.0;
  static constexpr Field kRows[] = {
      Row::of<&SizeIncrement::start>("start", "size of the first frame").standard("64"),
      Row::of<&SizeIncrement::end>("end", "largest size, after which `start` comes again")
          .standard("1518"),
      Row::of<&SizeIncrement::step>("step", "difference from frame to frame")
          .from(0, kMost)
          .standard("1")};
  static constexpr ModelMessage kMessage{"Flow.SizeIncrement", kRows, set_path<SizeIncrement>};
  return kMessage;
}

const ModelMessage& SizeRandom::message() {
  using Row = ModelRowOf<SizeRandom>;
  static constexpr Field kRows[] = {
      Row::of<&SizeRandom::min>("min", "smallest size").standard("64"),
      Row::of<&SizeRandom::max>("max", "largest size").standard("1518")};
  static constexpr ModelMessage kMessage{"Flow.SizeRandom", kRows, set_path<SizeRandom>};
  return kMessage;
}

const ModelMessage& SizeWeight::message() {
  using Row = ModelRowOf<SizeWeight>;
  static constexpr Field kRows[] = {
      Row::of<&SizeWeight::size>("size", "size").from(12, 65535).standard("64"),
      Row::of<&SizeWeight::weight>("weight", "share, relative to the other weights").standard("1")};
  static constexpr ModelMessage kMessage{"Flow.SizeWeightPairs.Custom", kRows};
  return kMessage;
}

const ModelMessage& SizeWeights::message() {
  using Row = ModelRowOf<SizeWeights>;
  static constexpr Field kRows[] = {
      Row::of<&SizeWeights::choice>("choice", "which mixture")
          .among(kWeights)
          .standard("predefined"),
      Row::of<&SizeWeights::predefined>("predefined",
                                        "mixture of the model; frames below 64 bytes are padded")
          .among(kMixes)
          .standard("imix"),
      Row::of<&SizeWeights::custom>("custom", "sizes and their weights")};
  static constexpr ModelMessage kMessage{"Flow.SizeWeightPairs", kRows, set_path<SizeWeights>};
  return kMessage;
}

const ModelMessage& FlowSize::message() {
  using Row = ModelRowOf<FlowSize>;
  static constexpr Field kRows[] = {
      Row::of<&FlowSize::choice>("choice", "how sizes are set").among(kSizes).standard("fixed"),
      Row::of<&FlowSize::fixed>("fixed", "bytes of a frame, with FCS").standard("64"),
      Row::of<&FlowSize::increment>("increment", "sizes that rise"),
      Row::of<&FlowSize::random>("random", "sizes drawn uniformly"),
      Row::of<&FlowSize::weight_pairs>("weight_pairs", "sizes drawn by weight")};
  static constexpr ModelMessage kMessage{"Flow.Size", kRows, set_path<FlowSize>};
  return kMessage;
}

const ModelMessage& FlowRate::message() {
  using Row = ModelRowOf<FlowRate>;
  static constexpr string_view kLine = "rate on the wire, with preamble, gap and FCS";
  static constexpr Field kRows[] = {
      Row::of<&FlowRate::choice>("choice", "unit of the rate").among(kRates).standard("pps"),
      Row::of<&FlowRate::pps>("pps", "frames per second").standard("1000"),
      Row::of<&FlowRate::bps>("bps", kLine).standard("1000000000"),
      Row::of<&FlowRate::kbps>("kbps", kLine).standard("1000000"),
      Row::of<&FlowRate::mbps>("mbps", kLine).standard("1000"),
      Row::of<&FlowRate::gbps>("gbps", kLine).standard("1"),
      Row::of<&FlowRate::percentage>("percentage", "share of the port's line rate")
          .from(0, 100)
          .standard("100")};
  static constexpr ModelMessage kMessage{"Flow.Rate", kRows, set_path<FlowRate>};
  return kMessage;
}

namespace {

using TimeRow = ModelRowOf<FlowTime>;
constexpr Field kTimeChoice =
    TimeRow::of<&FlowTime::choice>("choice", "unit of the time").among(kTimes).standard("bytes");
constexpr string_view kBytesTime = "time of these bytes at the port's line rate";
constexpr Field kDelayRows[] = {
    kTimeChoice, TimeRow::of<&FlowTime::bytes>("bytes", kBytesTime).standard("0"),
    TimeRow::of<&FlowTime::nanoseconds>("nanoseconds", "ns").standard("0"),
    TimeRow::of<&FlowTime::microseconds>("microseconds", "us").standard("0")};
constexpr Field kGapRows[] = {
    kTimeChoice, TimeRow::of<&FlowTime::bytes>("bytes", kBytesTime).standard("12"),
    TimeRow::of<&FlowTime::nanoseconds>("nanoseconds", "ns").standard("96"),
    TimeRow::of<&FlowTime::microseconds>("microseconds", "us").standard("0.096")};

constexpr string_view kDelay = "time before the first frame";

}  // namespace

const ModelMessage& FlowTime::of_delay() {
  static constexpr ModelMessage kMessage{"Flow.Delay", kDelayRows, set_path<FlowTime>};
  return kMessage;
}

const ModelMessage& FlowTime::of_gap() {
  static constexpr ModelMessage kMessage{"Flow.Duration.InterBurstGap", kGapRows,
                                         set_path<FlowTime>};
  return kMessage;
}

const ModelMessage& FixedPackets::message() {
  using Row = ModelRowOf<FixedPackets>;
  static constexpr Field kRows[] = {
      Row::of<&FixedPackets::packets>("packets", "frames, after which the flow stops")
          .standard("1"),
      Row::only("gap", "12", kPaced),
      Row::with<&FixedPackets::delay, &FlowTime::of_delay>("delay", kDelay)};
  static constexpr ModelMessage kMessage{"Flow.FixedPackets", kRows};
  return kMessage;
}

const ModelMessage& FixedSeconds::message() {
  using Row = ModelRowOf<FixedSeconds>;
  static constexpr Field kRows[] = {
      Row::of<&FixedSeconds::seconds>("seconds", "time, after which the flow stops").standard("1"),
      Row::only("gap", "12", kPaced),
      Row::with<&FixedSeconds::delay, &FlowTime::of_delay>("delay", kDelay)};
  static constexpr ModelMessage kMessage{"Flow.FixedSeconds", kRows};
  return kMessage;
}

const ModelMessage& FlowBursts::message() {
  using Row = ModelRowOf<FlowBursts>;
  static constexpr Field kRows[] = {
      Row::of<&FlowBursts::bursts>("bursts", "bursts, after which the flow stops; 0: no end")
          .standard("0"),
      Row::of<&FlowBursts::packets>("packets", "frames of a burst, paced by `rate`").standard("1"),
      Row::only("gap", "12", kPaced),
      Row::with<&FlowBursts::inter_burst_gap, &FlowTime::of_gap>(
          "inter_burst_gap", "time between bursts, besides the pace")};
  static constexpr ModelMessage kMessage{"Flow.Burst", kRows};
  return kMessage;
}

const ModelMessage& FlowContinuous::message() {
  using Row = ModelRowOf<FlowContinuous>;
  static constexpr Field kRows[] = {
      Row::only("gap", "12", kPaced),
      Row::with<&FlowContinuous::delay, &FlowTime::of_delay>("delay", kDelay)};
  static constexpr ModelMessage kMessage{"Flow.Continuous", kRows};
  return kMessage;
}

const ModelMessage& FlowDuration::message() {
  using Row = ModelRowOf<FlowDuration>;
  static constexpr Field kRows[] = {
      Row::of<&FlowDuration::choice>("choice", "when the flow stops")
          .among(kDurations)
          .standard("continuous"),
      Row::of<&FlowDuration::fixed_packets>("fixed_packets", "after a number of frames"),
      Row::of<&FlowDuration::fixed_seconds>("fixed_seconds", "after a time"),
      Row::of<&FlowDuration::burst>("burst", "after a number of bursts"),
      Row::of<&FlowDuration::continuous>("continuous", "when /control/state says so")};
  static constexpr ModelMessage kMessage{"Flow.Duration", kRows};
  return kMessage;
}

const ModelMessage& LatencyMetrics::message() {
  using Row = ModelRowOf<LatencyMetrics>;
  static constexpr Field kRows[] = {
      Row::of<&LatencyMetrics::enable>("enable",
                                       "least, longest and mean latency; frames must have room "
                                       "for a signature of 24 bytes")
          .standard("false"),
      Row::only("mode", "store_forward", "time stamps are of whole frames")};
  static constexpr ModelMessage kMessage{"Flow.Latency.Metrics", kRows, set_path<LatencyMetrics>};
  return kMessage;
}

const ModelMessage& FlowMetricsWanted::message() {
  using Row = ModelRowOf<FlowMetricsWanted>;
  static constexpr Field kRows[] = {
      Row::of<&FlowMetricsWanted::enable>("enable",
                                          "the flow has a row of metrics, and its frames have "
                                          "signatures where these fit")
          .standard("false"),
      Row::of<&FlowMetricsWanted::loss>("loss", "the row has the frames lost, in percent")
          .standard("false"),
      Row::refused("rx_tx_ratio", kWholeFlow),
      Row::of<&FlowMetricsWanted::timestamps>("timestamps",
                                              "the row has the arrival of the first and of the "
                                              "last frame")
          .standard("false"),
      Row::of<&FlowMetricsWanted::latency>("latency", "the row has latencies"),
      Row::refused("predefined_metric_tags", kWholeFlow)};
  static constexpr ModelMessage kMessage{"Flow.Metrics", kRows};
  return kMessage;
}

const ModelMessage& FixedPayload::message() {
  using Row = ModelRowOf<FixedPayload>;
  static constexpr Field kRows[] = {
      Row::of<&FixedPayload::pattern>("pattern", "bytes in hexadecimal").standard("00"),
      Row::of<&FixedPayload::repeat>("repeat", "false: zeros follow the bytes").standard("true")};
  static constexpr ModelMessage kMessage{"FlowPayload.Fixed", kRows, set_path<FixedPayload>};
  return kMessage;
}

const ModelMessage& FlowPayload::message() {
  using Row = ModelRowOf<FlowPayload>;
  static constexpr Field kRows[] = {
      Row::of<&FlowPayload::choice>("choice",
                                    "bytes after the headers; a signature replaces the first 24")
          .among(kPayloads)
          .standard("fixed"),
      Row::of<&FlowPayload::fixed>("fixed", "given bytes")};
  static constexpr ModelMessage kMessage{"Flow.Payload", kRows};
  return kMessage;
}

const ModelMessage& FlowMessage::message() {
  using Row = ModelRowOf<FlowMessage>;
  static constexpr Field kRows[] = {
      Row::of<&FlowMessage::tx_rx>("tx_rx", "ends of the flow").needed(),
      Row::of<&FlowMessage::packet>("packet", "headers of its frames; none: an Ethernet header"),
      Row::refused("egress_packet", "packets are not sorted by their fields"),
      Row::of<&FlowMessage::size>("size", "sizes of its frames, with FCS"),
      Row::of<&FlowMessage::rate>("rate", "rate"),
      Row::of<&FlowMessage::duration>("duration", "end"),
      Row::of<&FlowMessage::metrics>("metrics", "what is measured"),
      Row::of<&FlowMessage::name>("name", "name in requests and metrics").needed(),
      Row::of<&FlowMessage::payload>("payload", "bytes after the headers; absent: zeros")};
  static constexpr ModelMessage kMessage{"Flow", kRows, set_path<FlowMessage>};
  return kMessage;
}

}  // namespace lw::gen::otg

// SPDX-License-Identifier: BSD-3-Clause
// The messages of RoCEv2: peers, QPs, what they send, settings of a port.
#include "gen/otg/model_rocev2.h"

namespace lw::gen::otg {
namespace {

using std::string_view;

constexpr string_view kEcns[] = {"non_ect", "ect_1", "ect_0", "ce"};
constexpr string_view kReliable[] = {"reliable_connection"};
constexpr string_view kVerbs[] = {"write", "write_with_immediate", "send", "send_with_immediate",
                                  "read"};
constexpr string_view kUnits[] = {"bytes", "kb", "mb", "gb"};
constexpr string_view kTransmitTypes[] = {"target_line_rate"};
constexpr string_view kMarkChoices[] = {"ip_dscp"};
constexpr string_view kStateful[] = {"rocev2"};

constexpr string_view kLastQp = "a QP number has 24 bits";

template <class T>
void put_place(void* object, const std::string& path) {
  static_cast<T*>(object)->path = path;
}

}  // namespace

const ModelMessage& QpParameters::message() {
  using Row = ModelRowOf<QpParameters>;
  static constexpr Field kRows[] = {
      Row::of<&QpParameters::source_qp_number>(
          "source_qp_number",
          "number of the QP, up to 16777215; where several QPs of an address have the standard "
          "number, all but the first get the next free ones")
          .from(2, 33554431)
          .standard("2"),
      Row::of<&QpParameters::dscp>("dscp", "DSCP of the QP's data packets")
          .from(0, 63)
          .standard("24"),
      Row::of<&QpParameters::ecn>("ecn", "ECN field of the QP's data packets")
          .among(kEcns)
          .standard("ect_1"),
      Row::of<&QpParameters::udp_source_port>("udp_source_port", "UDP source port of its packets")
          .from(0, 65535)
          .standard("49152"),
      Row::of<&QpParameters::initial_psn>("initial_psn",
                                          "PSN of the first packet that the QP sends, up to "
                                          "16777215")
          .from(0, 33554431)
          .standard("0"),
      Row::of<&QpParameters::virtual_address>("virtual_address",
                                              "first address of the QP's region of 2 GiB, which "
                                              "the RETH of its peer's WRITEs and READs "
                                              "has")
          .from(1, 16)
          .standard("0000000000000000"),
      Row::of<&QpParameters::remote_key>("remote_key", "R_Key of the region, which that RETH has")
          .from(1, 8)
          .standard("00000000")};
  static constexpr ModelMessage kMessage{"Rocev2.QPParameters", kRows, put_place<QpParameters>};
  return kMessage;
}

const ModelMessage& ConnectionType::message() {
  using Row = ModelRowOf<ConnectionType>;
  static constexpr Field kRows[] = {
      Row::of<&ConnectionType::choice>("choice", "RC, the only one that the model has")
          .among(kReliable)
          .standard("reliable_connection"),
      Row::of<&ConnectionType::reliable_connection>("reliable_connection", "parameters of the QP")};
  static constexpr ModelMessage kMessage{"Rocev2.ConnectionType", kRows};
  return kMessage;
}

const ModelMessage& QpMessage::message() {
  using Row = ModelRowOf<QpMessage>;
  static constexpr Field kRows[] = {
      Row::of<&QpMessage::qp_name>("qp_name", "name in other fields").needed(),
      Row::of<&QpMessage::connection_type>("connection_type", "parameters of the QP")};
  static constexpr ModelMessage kMessage{"Rocev2.QPs", kRows, put_place<QpMessage>};
  return kMessage;
}

const ModelMessage& V4Peer::message() {
  using Row = ModelRowOf<V4Peer>;
  static constexpr Field kRows[] = {
      Row::of<&V4Peer::name>("name", "name in requests and metrics").needed(),
      Row::of<&V4Peer::destination_ip_address>("destination_ip_address",
                                               "address that the QPs are connected to")
          .needed(),
      Row::of<&V4Peer::qps>("qps", "QPs to that address")};
  static constexpr ModelMessage kMessage{"Rocev2.V4Peer", kRows, put_place<V4Peer>};
  return kMessage;
}

const ModelMessage& V6Peer::message() {
  using Row = ModelRowOf<V6Peer>;
  static constexpr Field kRows[] = {
      Row::of<&V6Peer::name>("name", "name in requests and metrics").needed(),
      Row::of<&V6Peer::destination_ip_address>("destination_ip_address",
                                               "address that the QPs are connected to")
          .needed(),
      Row::of<&V6Peer::qps>("qps", "QPs to that address")};
  static constexpr ModelMessage kMessage{"Rocev2.V6Peer", kRows, put_place<V6Peer>};
  return kMessage;
}

namespace {

constexpr string_view kMtuMeaning =
    "payload of a packet that is not the last of its message: 64 to 14000 bytes";

}  // namespace

const ModelMessage& V4Interface::message() {
  using Row = ModelRowOf<V4Interface>;
  static constexpr Field kRows[] = {
      Row::of<&V4Interface::ipv4_name>("ipv4_name", "source address of the peers").needed(),
      Row::of<&V4Interface::ib_mtu>("ib_mtu", kMtuMeaning).from(0, 14000).standard("1024"),
      Row::of<&V4Interface::peers>("peers", "peers of the address")};
  static constexpr ModelMessage kMessage{"Rocev2.V4Interface", kRows, put_place<V4Interface>};
  return kMessage;
}

const ModelMessage& V6Interface::message() {
  using Row = ModelRowOf<V6Interface>;
  static constexpr Field kRows[] = {
      Row::of<&V6Interface::ipv6_name>("ipv6_name", "source address of the peers").needed(),
      Row::of<&V6Interface::ib_mtu>("ib_mtu", kMtuMeaning).from(0, 14000).standard("1024"),
      Row::of<&V6Interface::peers>("peers", "peers of the address")};
  static constexpr ModelMessage kMessage{"Rocev2.V6Interface", kRows, put_place<V6Interface>};
  return kMessage;
}

const ModelMessage& RocePeers::message() {
  using Row = ModelRowOf<RocePeers>;
  static constexpr Field kRows[] = {
      Row::of<&RocePeers::ipv4_interfaces>("ipv4_interfaces", "IPv4 addresses with peers"),
      Row::of<&RocePeers::ipv6_interfaces>("ipv6_interfaces", "IPv6 addresses with peers")};
  static constexpr ModelMessage kMessage{"Device.Rocev2Peer", kRows};
  return kMessage;
}

const ModelMessage& ImmediateData::message() {
  using Row = ModelRowOf<ImmediateData>;
  static constexpr Field kRows[] = {
      Row::of<&ImmediateData::immediate_data>("immediate_data", "ImmDt of the last packet")
          .from(1, 8)
          .standard("00000000")};
  static constexpr ModelMessage kMessage{"Rocev2.ImmediateData", kRows};
  return kMessage;
}

const ModelMessage& Verb::message() {
  using Row = ModelRowOf<Verb>;
  static constexpr Field kRows[] = {
      Row::of<&Verb::choice>("choice", "operation of the messages").among(kVerbs).standard("write"),
      Row::of<&Verb::write_with_immediate>("write_with_immediate", "its immediate data"),
      Row::of<&Verb::send_with_immediate>("send_with_immediate", "its immediate data")};
  static constexpr ModelMessage kMessage{"Rocev2.Verb", kRows};
  return kMessage;
}

const ModelMessage& RoceFlow::message() {
  using Row = ModelRowOf<RoceFlow>;
  static constexpr Field kRows[] = {
      Row::of<&RoceFlow::tx_endpoint>("tx_endpoint", "QP that sends").needed(),
      Row::of<&RoceFlow::rx_endpoint>(
          "rx_endpoint",
          "QP that tx_endpoint is connected to, or the port of that QP; absent: QPs of two peers "
          "are connected in order"),
      Row::of<&RoceFlow::name>("name", "name in requests and metrics").needed(),
      Row::of<&RoceFlow::rocev2_verb>("rocev2_verb", "operation of the messages"),
      Row::of<&RoceFlow::message_size>("message_size", "size of a message, in message_size_unit")
          .from(0, 65535)
          .standard("1"),
      Row::of<&RoceFlow::message_size_unit>(
          "message_size_unit", "1, 1024, 1048576 or 1073741824 bytes; a message has up to 2 GiB")
          .among(kUnits)
          .standard("mb")};
  static constexpr ModelMessage kMessage{"Rocev2.Flow", kRows, put_place<RoceFlow>};
  return kMessage;
}

const ModelMessage& TargetLineRate::message() {
  using Row = ModelRowOf<TargetLineRate>;
  static constexpr Field kRows[] = {
      Row::of<&TargetLineRate::value>(
          "value",
          "rate of the QPs of these flows together, in percent of the port's line rate, with "
          "preamble, gap and FCS")
          .from(0, 100)
          .standard("98"),
      Row::of<&TargetLineRate::flows>("flows", "what is sent at this rate")};
  static constexpr ModelMessage kMessage{"Rocev2.TargetLineRate", kRows, put_place<TargetLineRate>};
  return kMessage;
}

const ModelMessage& TransmitType::message() {
  using Row = ModelRowOf<TransmitType>;
  static constexpr Field kRows[] = {
      Row::of<&TransmitType::choice>("choice", "how the rate is set")
          .among(kTransmitTypes)
          .standard("target_line_rate"),
      Row::of<&TransmitType::target_line_rate>("target_line_rate", "a share of the line rate")};
  static constexpr ModelMessage kMessage{"Rocev2.TransmitType", kRows};
  return kMessage;
}

const ModelMessage& TxPort::message() {
  using Row = ModelRowOf<TxPort>;
  static constexpr Field kRows[] = {
      Row::of<&TxPort::port_name>("port_name", "port whose line rate is meant").needed(),
      Row::of<&TxPort::transmit_type>("transmit_type", "rate and flows")};
  static constexpr ModelMessage kMessage{"Rocev2.TxPorts", kRows, put_place<TxPort>};
  return kMessage;
}

const ModelMessage& RoceFlows::message() {
  using Row = ModelRowOf<RoceFlows>;
  static constexpr Field kRows[] = {Row::of<&RoceFlows::tx_ports>("tx_ports", "flows by port")};
  static constexpr ModelMessage kMessage{"Rocev2.Flows", kRows};
  return kMessage;
}

const ModelMessage& StatefulFlow::message() {
  using Row = ModelRowOf<StatefulFlow>;
  static constexpr Field kRows[] = {
      Row::of<&StatefulFlow::choice>("choice", "protocol of the flows").among(kStateful),
      Row::of<&StatefulFlow::rocev2>("rocev2", "flows of RoCEv2")};
  static constexpr ModelMessage kMessage{"StatefulFlow", kRows};
  return kMessage;
}

const ModelMessage& PriorityValue::message() {
  using Row = ModelRowOf<PriorityValue>;
  static constexpr Field kRows[] = {
      Row::of<&PriorityValue::value>("value", "DSCP of the packets").from(0, 63).standard("48")};
  static constexpr ModelMessage kMessage{"Rocev2.PriorityValue", kRows};
  return kMessage;
}

const ModelMessage& AckMarks::message() {
  using Row = ModelRowOf<AckMarks>;
  static constexpr Field kRows[] = {Row::of<&AckMarks::choice>("choice", "how ACKs are marked")
                                        .among(kMarkChoices)
                                        .standard("ip_dscp"),
                                    Row::of<&AckMarks::ip_dscp>("ip_dscp", "DSCP of ACKs"),
                                    Row::of<&AckMarks::ecn_value>("ecn_value", "ECN field of ACKs")
                                        .among(kEcns)
                                        .standard("ect_1")};
  static constexpr ModelMessage kMessage{"Rocev2.ACK", kRows};
  return kMessage;
}

const ModelMessage& NakMarks::message() {
  using Row = ModelRowOf<NakMarks>;
  static constexpr Field kRows[] = {Row::of<&NakMarks::choice>("choice", "how NAKs are marked")
                                        .among(kMarkChoices)
                                        .standard("ip_dscp"),
                                    Row::of<&NakMarks::ip_dscp>("ip_dscp", "DSCP of NAKs"),
                                    Row::of<&NakMarks::ecn_value>("ecn_value", "ECN field of NAKs")
                                        .among(kEcns)
                                        .standard("ect_1")};
  static constexpr ModelMessage kMessage{"Rocev2.NAK", kRows};
  return kMessage;
}

const ModelMessage& CnpSettings::message() {
  using Row = ModelRowOf<CnpSettings>;
  static constexpr Field kRows[] = {
      Row::of<&CnpSettings::choice>("choice", "how CNPs are marked")
          .among(kMarkChoices)
          .standard("ip_dscp"),
      Row::of<&CnpSettings::ip_dscp>("ip_dscp", "DSCP of CNPs"),
      Row::of<&CnpSettings::ecn_value>("ecn_value", "ECN field of CNPs")
          .among(kEcns)
          .standard("ect_1"),
      Row::of<&CnpSettings::cnp_delay_timer>("cnp_delay_timer",
                                             "least time between two CNPs of a QP, in us: "
                                             "min_time_between_cnps")
          .from(0, 255)
          .standard("55")};
  static constexpr ModelMessage kMessage{"Rocev2.CNP", kRows};
  return kMessage;
}

const ModelMessage& AckAndNak::message() {
  using Row = ModelRowOf<AckAndNak>;
  static constexpr Field kRows[] = {
      Row::of<&AckAndNak::ack>("ack", "marks of ACKs"),
      Row::of<&AckAndNak::nak>("nak", "marks of NAKs"),
      Row::of<&AckAndNak::enable_retransmission_timeout>("enable_retransmission_timeout",
                                                         "false: a QP waits for ACKs without limit")
          .standard("true"),
      Row::of<&AckAndNak::retransmission_timeout_value>(
          "retransmission_timeout_value",
          "time without an ACK before a retransmission, in ms, rounded up to the next local "
          "ACK timeout of InfiniBand (4.096 us x 2^n); 0: no limit")
          .from(0, 5369)
          .standard("1"),
      Row::of<&AckAndNak::retransmission_retry_count>("retransmission_retry_count",
                                                      "retries after which the QP fails")
          .from(0, 254)
          .standard("3")};
  static constexpr ModelMessage kMessage{"Rocev2.AckAndNak", kRows};
  return kMessage;
}

const ModelMessage& QpConnectionType::message() {
  using Row = ModelRowOf<QpConnectionType>;
  static constexpr Field kRows[] = {
      Row::of<&QpConnectionType::choice>("choice", "RC, the only one that the model has")
          .among(kReliable)
          .standard("reliable_connection"),
      Row::of<&QpConnectionType::reliable_connection>("reliable_connection",
                                                      "acknowledgements and retries")};
  static constexpr ModelMessage kMessage{"Rocev2.QPConnectionType", kRows};
  return kMessage;
}

const ModelMessage& DcqcnSettings::message() {
  using Row = ModelRowOf<DcqcnSettings>;
  using Dcqcn = DcqcnSettings;
  constexpr double kMostTime = 1e9;
  static constexpr Field kRows[] = {
      Row::of<&Dcqcn::enable_dcqcn>("enable_dcqcn",
                                    "false: QPs send at their share of target_line_rate, whatever "
                                    "CNPs come")
          .standard("true"),
      Row::of<&Dcqcn::alpha_g>("alpha_g", "dce_tcp_g").from(1, 1023).standard("1019"),
      Row::of<&Dcqcn::initial_alpha>("initial_alpha", "initial_alpha")
          .from(1, 1023)
          .standard("1023"),
      Row::of<&Dcqcn::alpha_update_period>("alpha_update_period", "dce_tcp_rtt, in us")
          .from(1, kMostTime)
          .standard("21"),
      Row::of<&Dcqcn::rate_reduction_time_period>("rate_reduction_time_period",
                                                  "rate_reduce_monitor_period, in us")
          .from(0, kMostTime)
          .standard("21"),
      Row::of<&Dcqcn::initial_rate_after_first_cnp>(
          "initial_rate_after_first_cnp", "rate_to_set_on_first_cnp, in percent of the line rate")
          .from(0, 100)
          .standard("0.002"),
      Row::of<&Dcqcn::minimum_rate_limmit>("minimum_rate_limmit",
                                           "rpg_min_rate, in percent of the line rate")
          .from(0, 100)
          .standard("0.002"),
      Row::of<&Dcqcn::maximum_rate_decrement_at_time>(
          "maximum_rate_decrement_at_time",
          "most that a cut takes of the rate, in percent: rpg_min_dec_fac is 100 less this")
          .from(0, 100)
          .standard("10"),
      Row::of<&Dcqcn::clamp_target_rate>("clamp_target_rate", "clamp_tgt_rate").standard("false"),
      Row::of<&Dcqcn::rate_increment_time>("rate_increment_time", "rpg_time_reset, in us")
          .from(1, kMostTime)
          .standard("250"),
      Row::of<&Dcqcn::rate_increment_byte_counter>("rate_increment_byte_counter",
                                                   "rpg_byte_reset, in bytes")
          .from(1, 32767)
          .standard("32767"),
      Row::of<&Dcqcn::rate_increment_threshold>("rate_increment_threshold", "rpg_threshold")
          .from(1, 31)
          .standard("25"),
      Row::of<&Dcqcn::additive_increment_rate>("additive_increment_rate",
                                               "rpg_ai_rate, in percent of the line rate")
          .from(0, 100)
          .standard("0.001"),
      Row::of<&Dcqcn::hyper_increment_rate>("hyper_increment_rate",
                                            "rpg_hai_rate, in percent of the line rate")
          .from(0, 100)
          .standard("0.001")};
  static constexpr ModelMessage kMessage{"Rocev2.DCQCN", kRows};
  return kMessage;
}

const ModelMessage& PerPortRoce::message() {
  using Row = ModelRowOf<PerPortRoce>;
  static constexpr Field kRows[] = {
      Row::of<&PerPortRoce::cnp>("cnp", "congestion notifications"),
      Row::of<&PerPortRoce::connection_type>("connection_type", "acknowledgements and retries"),
      Row::of<&PerPortRoce::dcqcn_settings>("dcqcn_settings", "parameters of DCQCN")};
  static constexpr ModelMessage kMessage{"Rocev2.PerPortSettings", kRows};
  return kMessage;
}

}  // namespace lw::gen::otg

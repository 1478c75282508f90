// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/counters/counter_table.h"

#include <algorithm>
#include <utility>

namespace lw::dissect {
namespace {

using Sign = CounterSign;

constexpr CounterInfo kCounters[] = {
    // mlx5: sysfs hw_counters, `rdma statistic`
    {"packet_seq_err", "mlx5", "NAKs \"PSN sequence error\" received, within the retry limit"},
    {"out_of_sequence", "mlx5", "packets received out of sequence"},
    {"duplicate_request", "mlx5, rxe", "requests received again, that were executed before"},
    {"rnr_nak_retry_err", "mlx5", "RNR NAKs received, within the retry limit", Sign::no_receives},
    {"local_ack_timeout_err", "mlx5",
     "timers of the sender's QPs that expired, within the retry limit", Sign::timeouts},
    {"implied_nak_seq_err", "mlx5", "answers with a larger PSN than a READ or atomic expects"},
    {"roce_adp_retrans", "mlx5", "adaptive retransmissions: retransmitted before the QP's timer",
     Sign::timeouts},
    {"roce_adp_retrans_to", "mlx5", "timeouts reached because of adaptive retransmission"},
    {"roce_slow_restart", "mlx5", "times that slow restart was used"},
    {"roce_slow_restart_cnps", "mlx5",
     "CNPs that slow restart made itself: none came from the network"},
    {"roce_slow_restart_trans", "mlx5", "changes of state to slow restart"},
    {"rp_cnp_handled", "mlx5", "CNPs handled: from the network, and those of slow restart",
     Sign::cnps},
    {"rp_cnp_ignored", "mlx5", "CNPs received and ignored", Sign::cnps},
    {"np_ecn_marked_roce_packets", "mlx5", "RoCE packets received with the mark CE", Sign::marks},
    {"np_cnp_sent", "mlx5", "CNPs sent for marked packets", Sign::cnps_sent},
    {"rx_icrc_encapsulated", "mlx5", "RoCE packets received with a bad ICRC", Sign::damaged},
    {"out_of_buffer", "mlx5", "drops for want of a receive buffer", Sign::no_receives},
    {"req_transport_retries_exceeded", "mlx5",
     "requests whose retries were used up: connections that ended", Sign::ended},
    {"req_rnr_retries_exceeded", "mlx5",
     "requests whose retries after RNR NAKs were used up: connections that ended", Sign::ended},
    {"req_remote_access_errors", "mlx5", "requests refused with \"remote access error\"",
     Sign::refused},
    {"req_remote_invalid_request", "mlx5", "requests refused with \"invalid request\"",
     Sign::refused},
    {"resp_remote_access_errors", "mlx5",
     "requests of others that it refused with \"remote access error\"", Sign::refused},
    {"resp_local_length_error", "mlx5", "messages received that are longer than their buffer",
     Sign::refused},
    {"req_cqe_error", "mlx5", "completions of requests with an error", Sign::ended},
    {"resp_cqe_error", "mlx5", "completions of receives with an error", Sign::ended},
    {"req_cqe_flush_error", "mlx5", "requests flushed when their QP ended"},
    {"resp_cqe_flush_error", "mlx5", "receives flushed when their QP ended"},
    {"rx_write_requests", "mlx5", "WRITE requests received"},
    {"rx_read_requests", "mlx5", "READ requests received"},
    {"rx_atomic_requests", "mlx5", "atomic requests received"},
    {"rx_dct_connect", "mlx5", "connection requests of DC received"},
    // mlx5: ethtool -S
    {"rx_global_pause", "mlx5", "pause frames of the link received", Sign::paused},
    {"rx_pause_ctrl_phy", "mlx5", "pause frames received by the physical port", Sign::paused,
     "rx_global_pause"},
    {"rx_global_pause_duration", "mlx5", "time for which it was paused, in us"},
    {"tx_global_pause", "mlx5", "pause frames of the link sent", Sign::pauses},
    {"tx_pause_ctrl_phy", "mlx5", "pause frames sent by the physical port", Sign::pauses,
     "tx_global_pause"},
    {"tx_global_pause_duration", "mlx5", "time for which it paused the other end, in us"},
    {"rx_discards_phy", "mlx5",
     "frames that the physical port received and dropped, for want of buffers", Sign::discards},
    {"tx_discards_phy", "mlx5", "frames that the physical port dropped in place of sending them",
     Sign::discards},
    {"rx_out_of_buffer", "mlx5, bnxt_re", "frames received that found no receive buffer",
     Sign::no_receives},
    {"rx_crc_errors_phy", "mlx5", "frames received with a bad FCS", Sign::damaged},
    {"rx_symbol_err_phy", "mlx5", "frames received with errors of symbols", Sign::damaged},
    {"link_down_events_phy", "mlx5", "times that the link went down", Sign::link},
    {"outbound_pci_stalled_wr", "mlx5",
     "share of the time in which the host's bus delayed what it receives, in per cent"},
    {"tx_vport_rdma_unicast_packets", "mlx5", "RDMA packets sent"},
    {"rx_vport_rdma_unicast_packets", "mlx5", "RDMA packets received"},
    // sysfs counters, of all
    {"port_xmit_packets", "all", "packets sent"},
    {"port_rcv_packets", "all", "packets received"},
    {"port_xmit_data", "all", "data sent, in units of four bytes"},
    {"port_rcv_data", "all", "data received, in units of four bytes"},
    {"port_xmit_discards", "all", "packets not sent, as the port was down or congested",
     Sign::discards},
    {"port_rcv_discards", "all", "packets received and dropped, as the port was down or congested",
     Sign::discards},
    {"port_xmit_wait", "all", "ticks in which there was data to send, and none was sent",
     Sign::paused},
    {"port_rcv_errors", "all", "packets received with an error", Sign::damaged},
    {"symbol_error", "all", "errors of symbols", Sign::damaged},
    {"link_downed", "all", "times that the link went down", Sign::link},
    {"link_error_recovery", "all", "times that the link recovered from an error", Sign::link},
    {"excessive_buffer_overrun_errors", "all", "overruns of buffers", Sign::discards},
    // rxe
    {"sent_pkts", "rxe", "packets sent"},
    {"rcvd_pkts", "rxe", "packets received"},
    {"out_of_seq_request", "rxe", "requests received out of sequence"},
    {"rcvd_rnr_err", "rxe", "RNR NAKs received", Sign::no_receives},
    {"send_rnr_err", "rxe", "RNR NAKs sent", Sign::no_receives},
    {"rcvd_seq_err", "rxe", "NAKs \"PSN sequence error\" received"},
    {"ack_deferred", "rxe", "answers that were processed later"},
    {"retry_exceeded_err", "rxe", "connections that ended, as their retries were used up",
     Sign::ended},
    {"retry_rnr_exceeded_err", "rxe",
     "connections that ended, as their retries after RNR NAKs were used up", Sign::ended},
    {"completer_retry_err", "rxe", "times that requests were retransmitted"},
    {"send_err", "rxe", "packets that could not be sent"},
    {"rdma_sends", "rxe", "requests sent"},
    {"rdma_recvs", "rxe", "requests received"},
    // bnxt_re
    {"tx_pkts", "bnxt_re, efa", "packets sent"},
    {"rx_pkts", "bnxt_re, efa", "packets received"},
    {"tx_bytes", "bnxt_re, efa", "bytes sent"},
    {"rx_bytes", "bnxt_re, efa", "bytes received"},
    {"to_retransmits", "bnxt_re", "requests retransmitted after a timeout", Sign::timeouts},
    {"seq_err_naks_rcvd", "bnxt_re", "NAKs \"PSN sequence error\" received"},
    {"rnr_naks_rcvd", "bnxt_re", "RNR NAKs received", Sign::no_receives},
    {"max_retry_exceeded", "bnxt_re", "connections that ended, as their retries were used up",
     Sign::ended},
    {"missing_resp", "bnxt_re", "responses missing, as a later one came"},
    {"dup_req", "bnxt_re", "requests received again"},
    {"oos_drop_count", "bnxt_re", "packets received out of sequence, and dropped"},
    {"remote_access_err", "bnxt_re", "requests refused with \"remote access error\"",
     Sign::refused},
    {"remote_invalid_req_err", "bnxt_re", "requests refused with \"invalid request\"",
     Sign::refused},
    {"remote_op_err", "bnxt_re", "requests refused with \"remote operational error\"",
     Sign::refused},
    {"bad_resp_err", "bnxt_re", "responses that do not fit their requests", Sign::refused},
    {"unrecoverable_err", "bnxt_re", "connections that ended with an error", Sign::ended},
    {"rx_roce_discards", "bnxt_re", "RoCE packets received and dropped", Sign::discards},
    {"rx_roce_errors", "bnxt_re", "RoCE packets received with an error", Sign::damaged},
    {"tx_roce_discards", "bnxt_re", "RoCE packets dropped in place of sending them",
     Sign::discards},
    {"rx_cnp_pkts", "bnxt_re", "CNPs received", Sign::cnps},
    {"tx_cnp_pkts", "bnxt_re", "CNPs sent for marked packets", Sign::cnps_sent},
    {"rx_ecn_marked_pkts", "bnxt_re", "packets received with the mark CE", Sign::marks},
    {"rx_roce_good_pkts", "bnxt_re", "RoCE packets received without an error"},
    {"rx_pause_frames", "bnxt_re, irdma", "pause frames received", Sign::paused},
    {"tx_pause_frames", "bnxt_re, irdma", "pause frames sent", Sign::pauses},
    // irdma
    {"cnpHandled", "irdma", "CNPs received and handled", Sign::cnps},
    {"cnpIgnored", "irdma", "CNPs received and ignored", Sign::cnps},
    {"cnpSent", "irdma", "CNPs sent for marked packets", Sign::cnps_sent},
    {"RxECNMrkd", "irdma", "packets received with the mark CE", Sign::marks},
    {"RetransSegs", "irdma", "packets retransmitted"},
    {"tcpRetransSegs", "irdma", "packets retransmitted"},
    {"InProtoErrors", "irdma", "packets received that break the protocol", Sign::refused},
    {"Nak Sequence Error", "irdma", "NAKs \"PSN sequence error\" received"},
    {"Nak Sequence Error Implied", "irdma",
     "answers with a larger PSN than a READ or atomic expects"},
    {"RNR sent", "irdma", "RNR NAKs sent", Sign::no_receives},
    {"RNR received", "irdma", "RNR NAKs received", Sign::no_receives},
    {"RTO", "irdma", "timers that expired", Sign::timeouts},
    {"Rcvd Out of order packets", "irdma", "packets received out of sequence"},
    {"CRC errors", "irdma", "packets received with a bad ICRC", Sign::damaged},
    {"ip4InDiscards", "irdma", "IPv4 packets received and dropped", Sign::discards},
    {"ip6InDiscards", "irdma", "IPv6 packets received and dropped", Sign::discards},
    {"OutRdmaWrites", "irdma", "WRITEs sent"},
    {"InRdmaWrites", "irdma", "WRITEs received"},
    {"OutRdmaReads", "irdma", "READs sent"},
    {"InRdmaReads", "irdma", "READs received"},
    {"OutRdmaSends", "irdma", "SENDs sent"},
    {"InRdmaSends", "irdma", "SENDs received"},
    // efa: SRD, which is not RoCE
    {"rx_drops", "efa", "packets received and dropped", Sign::discards},
    {"retrans_pkts", "efa", "packets retransmitted"},
    {"retrans_bytes", "efa", "bytes retransmitted"},
    {"retrans_timeout_events", "efa", "timeouts, after which another path was taken",
     Sign::timeouts},
    {"unresponsive_remote_events", "efa", "peers that did not answer", Sign::timeouts},
    {"impaired_remote_conn_events", "efa",
     "connections that were slowed down, as they were impaired", Sign::timeouts},
    {"rdma_read_wr_err", "efa", "READs that failed", Sign::ended},
    {"rdma_write_wr_err", "efa", "WRITEs that failed", Sign::ended},
    {"send_wrs", "efa", "SENDs posted"},
    {"recv_wrs", "efa", "receives posted"},
    {"rdma_read_wrs", "efa", "READs that were completed"},
    {"rdma_write_wrs", "efa", "WRITEs that were completed"},
};

/// Counters of each priority: rx_prio3_pause.
constexpr CounterInfo kOfPriority[] = {
    {"rx_prioN_pause", "mlx5", "pause frames of the priority received", Sign::paused},
    {"tx_prioN_pause", "mlx5", "pause frames of the priority sent", Sign::pauses},
    {"rx_prioN_pause_duration", "mlx5", "time for which the priority was paused, in us"},
    {"tx_prioN_pause_duration", "mlx5",
     "time for which it paused the priority of the other end, in us"},
    {"rx_prioN_pause_transition", "mlx5", "changes from running to paused of the priority"},
    {"rx_prioN_discards", "mlx5",
     "frames of the priority received and dropped, for want of buffers", Sign::discards,
     "rx_discards_phy"},
    {"rx_prioN_buf_discard", "mlx5", "frames of the priority dropped, for want of buffers",
     Sign::discards, "rx_discards_phy"},
    {"rx_prioN_cong_discard", "mlx5", "frames of the priority dropped, as the port was congested",
     Sign::discards, "rx_discards_phy"},
    {"pfc_priN_rx_pause", "bnxt_re", "pause frames of the priority received", Sign::paused},
    {"pfc_priN_tx_pause", "bnxt_re", "pause frames of the priority sent", Sign::pauses},
    {"rx_priority_N_xoff", "irdma", "pause frames of the priority received", Sign::paused},
    {"tx_priority_N_xoff", "irdma", "pause frames of the priority sent", Sign::pauses},
};

/// node_exporter's names, without "node_infiniband_", and the drivers'.
constexpr std::pair<std::string_view, std::string_view> kMetricNames[] = {
    {"duplicate_requests_packets_total", "duplicate_request"},
    {"implied_nak_seq_errors_total", "implied_nak_seq_err"},
    {"local_ack_timeout_errors_total", "local_ack_timeout_err"},
    {"np_cnp_packets_sent_total", "np_cnp_sent"},
    {"np_ecn_marked_roce_packets_received_total", "np_ecn_marked_roce_packets"},
    {"out_of_buffer_drops_total", "out_of_buffer"},
    {"out_of_sequence_packets_received_total", "out_of_sequence"},
    {"packet_sequence_errors_total", "packet_seq_err"},
    {"req_cqes_errors_total", "req_cqe_error"},
    {"req_cqes_flush_errors_total", "req_cqe_flush_error"},
    {"req_remote_access_errors_total", "req_remote_access_errors"},
    {"req_remote_invalid_request_errors_total", "req_remote_invalid_request"},
    {"resp_cqes_errors_total", "resp_cqe_error"},
    {"resp_cqes_flush_errors_total", "resp_cqe_flush_error"},
    {"resp_local_length_errors_total", "resp_local_length_error"},
    {"resp_remote_access_errors_total", "resp_remote_access_errors"},
    {"rnr_nak_retry_packets_received_total", "rnr_nak_retry_err"},
    {"roce_adp_retransmits_total", "roce_adp_retrans"},
    {"roce_adp_retransmits_timeout_total", "roce_adp_retrans_to"},
    {"roce_slow_restart_used_total", "roce_slow_restart"},
    {"roce_slow_restart_cnps_total", "roce_slow_restart_cnps"},
    {"roce_slow_restart_total", "roce_slow_restart_trans"},
    {"rp_cnp_packets_handled_total", "rp_cnp_handled"},
    {"rp_cnp_ignored_packets_received_total", "rp_cnp_ignored"},
    {"rx_atomic_requests_total", "rx_atomic_requests"},
    {"rx_dct_connect_requests_total", "rx_dct_connect"},
    {"rx_read_requests_total", "rx_read_requests"},
    {"rx_write_requests_total", "rx_write_requests"},
    {"rx_icrc_encapsulated_errors_total", "rx_icrc_encapsulated"},
    {"port_packets_transmitted_total", "port_xmit_packets"},
    {"port_packets_received_total", "port_rcv_packets"},
    {"port_discards_transmitted_total", "port_xmit_discards"},
    {"port_discards_received_total", "port_rcv_discards"},
    {"port_transmit_wait_total", "port_xmit_wait"},
    {"port_errors_received_total", "port_rcv_errors"},
    {"symbol_error_total", "symbol_error"},
    {"link_downed_total", "link_downed"},
    {"link_error_recovery_total", "link_error_recovery"},
    {"excessive_buffer_overrun_errors_total", "excessive_buffer_overrun_errors"},
};

/// Whether `name` is that of a counter of a priority: N stands for a digit.
bool is_of_priority(std::string_view name, std::string_view pattern) noexcept {
  return std::ranges::equal(name, pattern, [](char is, char wanted) {
    return wanted == 'N' ? is >= '0' && is <= '7' : is == wanted;
  });
}

}  // namespace

std::span<const CounterInfo> known_counters() noexcept { return kCounters; }

const CounterInfo* find_counter(std::string_view name) noexcept {
  const auto known = std::ranges::find(kCounters, name, &CounterInfo::name);
  if (known != std::end(kCounters)) return known;
  const auto of_priority = std::ranges::find_if(
      kOfPriority, [name](const CounterInfo& one) { return is_of_priority(name, one.name); });
  return of_priority == std::end(kOfPriority) ? nullptr : of_priority;
}

std::string_view driver_name(std::string_view metric) noexcept {
  const auto known = std::ranges::find(kMetricNames, metric,
                                       &std::pair<std::string_view, std::string_view>::first);
  if (known != std::end(kMetricNames)) return known->second;
  constexpr std::string_view kTotal = "_total";
  if (metric.ends_with(kTotal)) metric.remove_suffix(kTotal.size());
  return metric;
}

}  // namespace lw::dissect

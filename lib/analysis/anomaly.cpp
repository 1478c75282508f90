// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/anomaly.h"

#include <algorithm>
#include <array>

namespace lw::analysis {
namespace {

struct KindRow {
  AnomalyKind kind;
  std::string_view name, help;
};

constexpr std::array kKinds = {
    KindRow{AnomalyKind::psn_gap, "psn_gap", "PSNs that the capture skips"},
    KindRow{AnomalyKind::lost_after_capture, "lost_after_capture",
            "a captured packet that the receiver misses"},
    KindRow{AnomalyKind::out_of_order, "out_of_order", "packets behind later ones"},
    KindRow{AnomalyKind::duplicate, "duplicate", "copies that the path made"},
    KindRow{AnomalyKind::retransmission, "retransmission", "a recovery: packets retransmitted"},
    KindRow{AnomalyKind::nak, "nak", "the receiver refuses or misses a packet"},
    KindRow{AnomalyKind::rnr_nak, "rnr_nak", "the receiver has no receive buffer posted"},
    KindRow{AnomalyKind::psn_reused, "psn_reused", "the PSN of another request"},
    KindRow{AnomalyKind::ack_of_unsent, "ack_of_unsent",
            "an acknowledgement before the packet that it acknowledges"},
    KindRow{AnomalyKind::unanswered, "unanswered", "requests without an answer"},
    KindRow{AnomalyKind::retry_storm, "retry_storm", "a packet sent for the fourth time"},
    KindRow{AnomalyKind::stall, "stall", "packets outstanding, and silence"},
    KindRow{AnomalyKind::read_span, "read_span",
            "a READ response with another number of packets than the MTU says"},
    KindRow{AnomalyKind::bad_icrc, "bad_icrc", "a packet that the receiver drops"},
    KindRow{AnomalyKind::no_icrcs, "no_icrcs", "no packet has a right ICRC"},
    KindRow{AnomalyKind::malformed, "malformed", "lengths, pads or opcodes against the rules"},
    KindRow{AnomalyKind::p_key, "p_key", "another partition key"},
    KindRow{AnomalyKind::ce_without_cnp, "ce_without_cnp",
            "congestion was marked, and no CNP came back"},
    KindRow{AnomalyKind::cnp_without_ce, "cnp_without_ce",
            "CNPs came, and no captured packet is marked"},
    KindRow{AnomalyKind::pause, "pause",
            "pause frames, of a link or of a priority: a port was full"},
    KindRow{AnomalyKind::window_plateau, "window_plateau",
            "a limit of outstanding requests, reached again and again"},
    KindRow{AnomalyKind::wrong_icrcs, "wrong_icrcs",
            "all ICRCs of a sender are wrong: its packets are dropped"},
    KindRow{AnomalyKind::wrong_answer, "wrong_answer",
            "an answer that no request allows: the responder is wrong"},
    KindRow{AnomalyKind::trimmed, "trimmed", "a packet whose data a switch has cut off"},
    KindRow{AnomalyKind::connect_rejected, "connect_rejected",
            "a connection request that was refused (REJ)"},
    KindRow{AnomalyKind::connect_unanswered, "connect_unanswered",
            "connection requests (REQ) without an answer"},
    KindRow{AnomalyKind::connect_unconfirmed, "connect_unconfirmed",
            "a reply (REP) that nobody confirmed (RTU)"},
    KindRow{AnomalyKind::disconnected, "disconnected",
            "one end has disconnected (DREQ), and requests were open"},
    KindRow{AnomalyKind::disconnect_unanswered, "disconnect_unanswered",
            "requests to disconnect (DREQ) without an answer"},
    KindRow{AnomalyKind::icmp_refused, "icmp_refused",
            "ICMP messages about packets that were not passed on"},
    KindRow{AnomalyKind::address_unresolved, "address_unresolved",
            "ARP or neighbour requests for a peer, without an answer"},
};

constexpr auto kAll = [] {
  std::array<AnomalyKind, kKinds.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kKinds[i].kind;
  return all;
}();

const KindRow& row_of(AnomalyKind kind) noexcept {
  return *std::ranges::find(kKinds, kind, &KindRow::kind);
}

struct CauseRow {
  Cause cause;
  std::string_view token, name;
};

constexpr CauseRow kCauses[] = {
    {Cause::none, "none", ""},
    {Cause::lost_before_capture, "lost_before", "lost before the capture point"},
    {Cause::missing_in_capture, "missing_in_capture", "missing in the capture"},
    {Cause::before_capture, "before_capture", "sent before the capture began"},
    {Cause::not_sent, "not_sent", "not sent"},
    {Cause::lost_behind, "lost_behind", "lost behind the capture point, or overtaken there"},
    {Cause::reordered_behind, "reordered_behind", "overtaken behind the capture point"},
    {Cause::sequence_nak, "nak", "NAK: PSN sequence error"},
    {Cause::receiver_not_ready, "rnr", "RNR NAK"},
    {Cause::timeout, "timer", "timeout: no NAK before it"},
    {Cause::nak_lost, "nak_lost", "timeout: the NAK did not arrive"},
    {Cause::response_lost, "response_lost", "READ response lost"},
    {Cause::ack_lost, "ack_lost", "its ACK did not arrive"},
    {Cause::reordered, "late_not_lost", "late, not lost"},
    {Cause::timer_too_short, "timer_short", "the timer is shorter than the round trip"},
    {Cause::full_link, "full_link", "a link is full: the round trip grows, the rate does not"},
    {Cause::peer_stopped, "peer_stopped", "the other end answers no more"},
    {Cause::request_copied, "request_copied", "the path copied the request"},
    {Cause::request_resent, "request_resent", "the request was retransmitted"},
    {Cause::path_copy, "path_copy", "the path copied it"},
    {Cause::rnr_exhausted, "rnr_exhausted", "refused with RNR NAKs until the retries were used up"},
    {Cause::fatal_nak, "fatal_nak", "fatal NAK"},
    {Cause::answer_wrong, "answer_wrong", "its requester does not take the answer, which is wrong"},
    {Cause::trimmed, "trimmed", "a switch has cut off its data"},
    {Cause::lost_between, "lost_between", "lost between two capture points"},
};

const CauseRow& row_of(Cause cause) noexcept {
  return *std::ranges::find(kCauses, cause, &CauseRow::cause);
}

}  // namespace

std::string_view name_of(AnomalyKind kind) noexcept { return row_of(kind).name; }
std::string_view help_of(AnomalyKind kind) noexcept { return row_of(kind).help; }
std::span<const AnomalyKind> all_anomaly_kinds() noexcept { return kAll; }

std::string_view name_of(Cause cause) noexcept { return row_of(cause).name; }
std::string_view token_of(Cause cause) noexcept { return row_of(cause).token; }

std::string_view name_of(const Hypothesis& hypothesis) noexcept {
  if (hypothesis.cause != Cause::none) return name_of(hypothesis.cause);
  if (hypothesis.kind == AnomalyKind::out_of_order) return "late";
  return hypothesis.kind == AnomalyKind::retransmission ? "retransmitted"
                                                        : name_of(hypothesis.kind);
}

std::string_view name_of(Certainty certainty) noexcept {
  constexpr std::string_view kNames[] = {"certain", "either", "unknown"};
  return kNames[static_cast<std::size_t>(certainty)];
}

}  // namespace lw::analysis

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
    KindRow{AnomalyKind::retransmission, "retransmission", "a recovery: packets sent again"},
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
    KindRow{AnomalyKind::pause, "pause", "frames of priority flow control: a port was full"},
    KindRow{AnomalyKind::window_plateau, "window_plateau",
            "a limit of outstanding requests, reached again and again"},
};

constexpr auto kAll = [] {
  std::array<AnomalyKind, kKinds.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kKinds[i].kind;
  return all;
}();

const KindRow& row_of(AnomalyKind kind) noexcept {
  return *std::ranges::find(kKinds, kind, &KindRow::kind);
}

}  // namespace

std::string_view name_of(AnomalyKind kind) noexcept { return row_of(kind).name; }
std::string_view help_of(AnomalyKind kind) noexcept { return row_of(kind).help; }
std::span<const AnomalyKind> all_anomaly_kinds() noexcept { return kAll; }

std::string_view name_of(Cause cause) noexcept {
  constexpr std::string_view kNames[] = {
      "",
      "lost before the capture point",
      "missing in the capture",
      "lost before the capture point, or missing in the capture",
      "NAK: PSN sequence error",
      "RNR NAK",
      "timeout: no NAK before it",
      "READ response lost",
      "its ACK did not arrive",
      "late, not lost",
      "fatal NAK",
  };
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace lw::analysis

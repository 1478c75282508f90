// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/display_filter.h"

#include <optional>

#include <fmt/format.h>

#include "dissect/sessions/capture_analysis.h"
#include "wire/psn.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;

/// Whether an anomaly is about the packets with its PSNs.
bool is_of_psns(const Anomaly& anomaly) {
  switch (anomaly.kind) {
    case AnomalyKind::psn_gap:
    case AnomalyKind::lost_after_capture:
    case AnomalyKind::out_of_order:
    case AnomalyKind::duplicate:
    case AnomalyKind::retransmission:
    case AnomalyKind::nak:
    case AnomalyKind::rnr_nak:
    case AnomalyKind::psn_reused:
    case AnomalyKind::ack_of_unsent:
    case AnomalyKind::unanswered:
    case AnomalyKind::retry_storm:
    case AnomalyKind::read_span:
    case AnomalyKind::wrong_answer:
    case AnomalyKind::trimmed:
      return true;
    default:
      return false;
  }
}

/// Whether the frame of an anomaly is none of the connection's own packets: messages of connection
/// managers go to QP 1, and ICMP and ARP have no QP.
bool is_of_other_frames(const Anomaly& anomaly) {
  switch (anomaly.kind) {
    case AnomalyKind::connect_rejected:
    case AnomalyKind::connect_unanswered:
    case AnomalyKind::connect_unconfirmed:
    case AnomalyKind::disconnected:
    case AnomalyKind::disconnect_unanswered:
    case AnomalyKind::icmp_refused:
    case AnomalyKind::address_unresolved:
      return true;
    default:
      return anomaly.session == 0;
  }
}

/// Names of a packet's addresses in Wireshark.
struct AddressFields {
  std::string_view source, destination;
};

AddressFields fields_of(wire::Encapsulation encapsulation) {
  if (encapsulation == wire::Encapsulation::grh)
    return {"infiniband.grh.sgid", "infiniband.grh.dgid"};
  return encapsulation == wire::Encapsulation::ipv4 ? AddressFields{"ip.src", "ip.dst"}
                                                    : AddressFields{"ipv6.src", "ipv6.dst"};
}

std::string one_way(const AddressFields& fields, const std::string& from, const std::string& to,
                    std::optional<std::uint32_t> qp) {
  std::string text =
      fmt::format("{} == {} && {} == {}", fields.source, from, fields.destination, to);
  if (qp) text += fmt::format(" && infiniband.bth.destqp == {:#x}", *qp);
  return text;
}

/// "infiniband.bth.psn in {5..7}"; two ranges where PSNs wrap.
std::string psn_clause(const Anomaly& anomaly) {
  constexpr std::uint64_t kPsns = std::uint64_t{wire::Psn::kMask} + 1;
  if (anomaly.packets <= 1) return fmt::format("infiniband.bth.psn == {}", anomaly.psn);
  const std::uint64_t last = anomaly.psn + anomaly.packets - 1;
  if (last < kPsns) return fmt::format("infiniband.bth.psn in {{{}..{}}}", anomaly.psn, last);
  return fmt::format("infiniband.bth.psn in {{{}..{}, 0..{}}}", anomaly.psn, kPsns - 1,
                     std::min(last - kPsns, kPsns - 1));
}

std::string frame_clause(const Anomaly& anomaly) {
  if (anomaly.last_frame <= anomaly.frame) return fmt::format("frame.number == {}", anomaly.frame);
  return fmt::format("frame.number in {{{}..{}}}", anomaly.frame, anomaly.last_frame);
}

}  // namespace

std::string display_filter(const Anomaly& anomaly, const analysis::Analyst& analyst) {
  if (anomaly.kind == AnomalyKind::pause) return "eth.type == 0x8808 && " + frame_clause(anomaly);
  if (is_of_other_frames(anomaly)) return frame_clause(anomaly);
  const analysis::Session& session = analyst.sessions()[anomaly.session - 1];
  const Ends ends = ends_of(analyst, session, anomaly.direction);
  const auto& [one, other] = session.directions;
  const std::uint32_t flow = one.flow != analysis::QpFlow::kNone ? one.flow : other.flow;
  const AddressFields fields = fields_of(analyst.flows()[flow].encapsulation);
  return fmt::format("(({}) || ({})) && {}",
                     one_way(fields, ends.from_address, ends.to_address, ends.to_qp),
                     one_way(fields, ends.to_address, ends.from_address, ends.from_qp),
                     is_of_psns(anomaly) ? psn_clause(anomaly) : frame_clause(anomaly));
}

}  // namespace lw::dissect

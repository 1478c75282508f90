// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/check/passage_log.h"

namespace lw::analysis {

/// What the protocol, or the capture, says against a finding.
enum class ProtocolRule : std::uint8_t {
  guessed_pair,         // the two directions were paired by a guess
  ack_before_packet,    // an ACK cannot come before its packet: they are of different connections
  packet_is_not_there,  // the frame has no such packet, or not at that place of the sequence
  packet_was_held,      // a packet called lost is in the capture
  packet_never_came,    // a packet called lost was acknowledged, and not sent again
  came_once_more,       // one of its packets came that no recovery explains: the first one, late
  packet_is_new,        // a packet called sent again was not sent before
  frame_of_other_kind,  // the frame that a cause names is not of its kind
  nak_acknowledges,     // a NAK acknowledges all before its PSN: the sender begins there
  nak_used_twice,       // one NAK explains one recovery
  not_the_oldest,       // a timer repeats from the oldest packet that is not acknowledged
  not_acknowledged,     // no ACK of the packets has passed
  is_acknowledged,      // an answer acknowledges it
  no_response_asked,    // it asks for no response
  timer_too_soon,       // no timer is that short
  may_be_sent_again,    // far later than others, and a NAK asked for it meanwhile
  nak_asks_for_it,      // a NAK that explains no other recovery asks for it
};
std::string_view name_of(ProtocolRule rule) noexcept;  // "one NAK explains one recovery"

struct Contradiction {
  ProtocolRule rule{};
  std::uint64_t frame = 0;       // the frame that contradicts the finding; 0: none
  Hypotheses alternatives = {};  // what is left; empty: unknown; one: it holds
  std::uint64_t related = 0;     // the frame that explains what holds; 0: the finding's stays
};

/// What a check may rely on.
struct CheckPremises {
  bool guessed_pair = false;
  bool answered = true;       // both directions were captured
  bool began_before = false;  // the capture began within the connection
  bool complete = true;       // the capture lacks no frames, or headers, that the network carried
  bool selective = false;     // the sender repeats single packets
  bool ids_tell_copies = false;  // IP identifications tell a copy from a packet that came late
  bool ids_tell_order = false;   // they tell which packet was sent first
};

/// Compares the certain findings about one direction of a connection with a small model of what
/// requesters and responders may do (IBTA vol. 1, 9.7). It is not made from what led to the
/// findings: it has its own record of the packets.
class ProtocolCheck {
 public:
  /// `log` and `findings` must outlive the object. All findings are about the requests of `log`, or
  /// their answers.
  ProtocolCheck(const PassageLog& log, const CheckPremises& premises,
                std::span<const Anomaly> findings);

  /// What contradicts a finding, one of those of the constructor or a changed one; nothing: nothing
  /// does, or it is not certain.
  [[nodiscard]] std::optional<Contradiction> against(const Anomaly& finding) const;

 private:
  using Found = std::optional<Contradiction>;
  using Run = PassageLog::Run;

  [[nodiscard]] Found against_pair(const Anomaly& finding) const;
  [[nodiscard]] Found against_packets(const Anomaly& finding) const;
  [[nodiscard]] Found against_loss(const Anomaly& gap) const;
  [[nodiscard]] Found against_missing(const Anomaly& gap) const;
  [[nodiscard]] Found against_loss_behind(const Anomaly& loss) const;
  [[nodiscard]] Found against_recovery(const Anomaly& recovery) const;
  [[nodiscard]] Found against_cause(const Anomaly& recovery, std::uint64_t start,
                                    const Run& run) const;
  [[nodiscard]] Found against_nak(const Anomaly& recovery, std::uint64_t start,
                                  const Run& run) const;
  [[nodiscard]] std::uint64_t own_nak(const Anomaly& recovery, std::uint64_t start) const;
  [[nodiscard]] Found against_lost_response(const Anomaly& recovery, std::uint64_t start) const;
  [[nodiscard]] Found against_order(const Anomaly& finding) const;
  [[nodiscard]] Found against_lateness(const Anomaly& late, std::uint64_t psn) const;
  [[nodiscard]] Found against_timer(const Anomaly& recovery, std::uint64_t start,
                                    const Run& run) const;
  [[nodiscard]] Found against_damage(const Anomaly& damaged) const;
  [[nodiscard]] Found against_answer(const Anomaly& nak) const;
  [[nodiscard]] Found against_silence(const Anomaly& unanswered) const;

  [[nodiscard]] const Run* passed(std::uint64_t psn, std::uint64_t from, std::uint64_t to) const;
  [[nodiscard]] bool may_have_passed(std::uint64_t psn, std::uint64_t from, std::uint64_t to) const;
  [[nodiscard]] const Run* newest_passage(std::uint64_t psn, std::uint64_t to) const;
  [[nodiscard]] bool has_fetch(std::uint64_t psn, std::uint64_t end) const;
  [[nodiscard]] const Anomaly* recovery_before(std::uint64_t frame) const;
  [[nodiscard]] std::span<const PassageLog::Nak> naks_between(std::uint64_t from,
                                                              std::uint64_t to) const;
  [[nodiscard]] bool was_asked_for(std::uint64_t psn, std::uint64_t from, std::uint64_t to) const;
  [[nodiscard]] bool is_in_gap(std::uint64_t psn, std::uint64_t frame) const;

  const PassageLog& log_;
  CheckPremises premises_;
  std::vector<const Anomaly*> recoveries_;                       // of requests, by frame
  std::vector<const Anomaly*> gaps_;                             // of requests, by frame
  std::map<std::uint64_t, std::vector<std::uint64_t>> singles_;  // frames of single packets, by PSN
  std::map<std::uint64_t, std::uint64_t> first_use_;  // by NAK: the recovery that it explains
  std::optional<Duration> usual_lateness_;  // the median of late requests; nothing: they are few
};

/// Checks findings about one direction of a connection. What is contradicted is no longer certain:
/// it becomes either of what is left, or unknown, and its detail names the rule and the frame.
void check_findings(const PassageLog& log, const CheckPremises& premises,
                    std::span<Anomaly> findings);

}  // namespace lw::analysis

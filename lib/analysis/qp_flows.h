// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/findings/recovery_votes.h"
#include "analysis/findings/repeated_runs.h"
#include "analysis/mtu_evidence.h"
#include "analysis/packet.h"
#include "analysis/pair_evidence.h"
#include "core/prefetch.h"
#include "roce/cm_learner.h"

namespace lw::analysis {

/// How the two flows of a connection were found.
enum class PairedBy : std::uint8_t {
  none,                // the other direction was not seen, or nothing shows which it is
  connection_manager,  // its REQ and REP
  queue_pairs,         // UD: both ends name both QPs
  responses,           // the PSNs of the responses fit the requests of this flow only
  source_port,         // of several that fit, the one with the same UDP source port
  nak,                 // of several that fit, the only one that repeated what a NAK asked for
  order,               // of several that fit, the first to appear: a guess
};
std::string_view name_of(PairedBy paired) noexcept;

/// A flow, from its first packet to its QP's next connection, and what is known about it.
struct QpFlow {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// Another flow, with requests that this flow's responses may answer.
  struct Candidate {
    std::uint32_t flow = 0;
    PairEvidence evidence = {};
  };
  struct PendingRead {
    std::uint32_t psn = 0, length = 0;
  };
  /// A request that waits for the answer to just its PSN.
  struct Probe {
    std::uint32_t psn = 0;
    Instant stamp = {};
  };
  /// A request that does not continue the others: it belongs to the QP's next connection, or its
  /// sender got no answer, or the capture misses requests. The next response tells.
  struct Restart {
    std::uint64_t frame = 0;
    std::uint32_t psn = 0;
    std::uint64_t requests = 0;  // packets since then, with this one
  };
  /// The IP identifications of the flow's requests.
  struct IpCount {
    std::uint16_t first = 0, last = 0;
    std::uint8_t rises = 0;           // in a row, up to kEnough
    std::uint16_t near = 0, far = 0;  // steps, either way, of less than kLargestStep, and others
    static constexpr std::uint8_t kEnough = 8;

    void add(const CapturedPacket& packet) noexcept {
      constexpr int kLargestStep = 4096;  // packets of other flows may come in between
      constexpr std::uint16_t kMost = 1024;
      const auto step = static_cast<std::int16_t>(packet.ip_id - last);
      if (step <= 0) rises = 0;
      if (rises == 0) first = packet.ip_id;
      const bool is_near = step != 0 && step > -kLargestStep && step < kLargestStep;
      if (std::uint16_t& steps = is_near ? near : far; steps < kMost) ++steps;
      rises = static_cast<std::uint8_t>(std::min<int>(rises + 1, kEnough));
      last = packet.ip_id;
    }
    /// Whether the sender counts its packets up. Of random numbers, one in eight is near.
    [[nodiscard]] bool counts() const noexcept {
      constexpr std::uint16_t kSteps = 8, kShare = 4;
      return near >= kSteps && near >= kShare * far;
    }
    /// Whether the sender counted its packets up, and begins anew with this one: at its first
    /// number or before.
    [[nodiscard]] bool restarts(const CapturedPacket& packet) const noexcept {
      return rises == kEnough && static_cast<std::int16_t>(packet.ip_id - last) < 0 &&
             static_cast<std::int16_t>(packet.ip_id - first) <= 0;
    }
  };

  // What each packet touches comes first.
  QpFlowKey key;
  std::uint32_t peer = kNone;     // the other direction
  std::uint32_t session = kNone;  // set by the owner of the flows
  std::uint32_t source = 0;       // index of its source's host
  std::uint32_t target = 0;       // index of its destination's host
  PairedBy paired_by = PairedBy::none;
  wire::Transport transport = wire::Transport::rc;
  wire::Encapsulation encapsulation = wire::Encapsulation::ipv4;
  bool ended = false;        // its QP's next connection has begun
  bool guessed = false;      // a guess gave one of its candidates to another flow
  bool provisional = false;  // its peer is the only one that fits so far: may be decided again
  bool contested = false;    // if provisional: other responses fit its requests, or its own others
  std::uint8_t listed = 0;   // flows of responses that it is, or was, a candidate of; at most 2
  std::uint64_t requests = 0, responses = 0;  // packets
  std::uint32_t first_psn = 0, last_psn = 0;  // of requests
  Instant last = {};                          // of the last request
  std::uint32_t highest_psn = 0;              // of requests
  std::uint32_t end_psn = 0;                  // one past the last PSN that requests may use
  std::uint32_t gap_end = ~0U;                // PSN of the newest request that skipped others
  std::uint32_t first_response_psn = 0;
  std::uint32_t response_psn = 0;  // of the last response
  std::uint32_t msn = 0;           // of the last response that has one
  IpCount ip_numbers = {};
  std::uint16_t source_port = 0;
  std::uint8_t dscp = 0;            // of its first whole packet
  std::uint32_t largest_frame = 0;  // of its whole packets, in bytes

  MtuEvidence mtu = {};
  std::uint64_t good_icrcs = 0, bad_icrcs = 0;
  std::optional<PendingRead> read = {};     // the last request, if it is a READ
  std::optional<Probe> probe = {};          // by which round trips are measured
  std::optional<std::uint32_t> naked = {};  // by its responses, while nobody has repeated it
  std::vector<Candidate> candidates = {};
  std::shared_ptr<AskedRequests> asked = {};  // until its peer is final; null: it asked for none
  std::optional<Restart> restart = {};
  std::shared_ptr<RecoveryVotes> recovery = {};     // of its sender; null: it got no NAK
  RecoveryScheme scheme = RecoveryScheme::unknown;  // that its source counts for it
  RepeatedRuns repeated = {};                       // in its requests: tells without answers
};

/// What a host's wrong ICRCs mean, at one capture point.
enum class IcrcState : std::uint8_t {
  judged,   // some are right: a wrong one shows damage
  missing,  // all are wrong, and its packets are answered as if they were right, or all are
            // constant
  wrong,    // all are wrong: its packets are dropped
  unknown,  // all are wrong: it has sent too little to tell what becomes of its packets
};

/// Where a packet that is shorter than its IP length says was cut.
enum class CutBy : std::uint8_t {
  network,  // a switch trimmed it: its DSCP was changed, or others as long are whole
  mirror,   // all packets at this point are cut at one length
  unknown,  // one of both
};

/// From frame `frame` on, packets of the flows `from` belong to the flows `to`, in the same order:
/// a QP's next connection. Indices into QpFlows.
struct MovedPackets {
  std::uint64_t frame = 0;
  std::uint32_t from[2] = {}, to[2] = {};
};

/// Finds the flows of a capture, the pairs of flows that are the two directions of a connection,
/// and their path MTU. No header has this information: a packet names the QP that it goes to, but
/// not the QP that it comes from, and no packet names the MTU.
///
/// Responses are matched to requests by PSN. If one flow has sent that PSN, both are a pair: first
/// for now, and for good after kConfirming responses that fit. Responses that fit only flows with a
/// peer, or do not fit their own, contest such pairs: all are decided again with what came since.
/// If many QPs begin with the same PSN, the first kMostCandidates of them are compared, so that
/// time and memory are in proportion to the number of QPs. Of the ways to pair them, the one holds
/// that fewest responses contradict: those before their requests, to requests that ask for none, or
/// that count other messages. Where several are left, or few responses fit, it is a guess: the one
/// in which answers come after about the same time.
///
/// A new flow begins if the QP number is used again: with a connection manager's REP, another
/// transport, a PSN more than kFar away from the last ones, a PSN that does not continue them if
/// the MSNs of the responses begin anew as well, or, of requests whose responses were not captured,
/// the first PSN once more after a second of silence if their sender counts IP packets anew.
class QpFlows {
 public:
  static constexpr std::int32_t kFar = 65536;
  static constexpr std::size_t kMostCandidates = 16, kMostFlows = 200'000;
  static constexpr std::uint32_t kConfirming = 16;  // responses

  /// Processes a packet of a capture and returns its flow; kNone if there are kMostFlows others.
  /// Nothing is learned from frames with a bad ICRC.
  std::uint32_t enter(const KeyedPacket& keyed);
  /// What all the wrong ICRCs of a flow's source mean.
  [[nodiscard]] IcrcState icrcs_of(std::uint32_t flow) const noexcept {
    return hosts_[flows_[flow].source].icrcs();
  }
  /// Where a packet with CapturedPacket::trimmed was cut.
  [[nodiscard]] CutBy cut_by(const CapturedPacket& packet) const noexcept;
  /// Whether the capture has answers to requests of the flow's source, of any connection.
  [[nodiscard]] bool has_answers_to_source(std::uint32_t flow) const noexcept {
    return hosts_[flows_[flow].source].answers > 0;
  }
  /// Shortest time from a request, of any connection, to the answer of the flow's source, as seen
  /// at the flow's point: it answers a NAK hardly sooner. Nothing: not seen.
  [[nodiscard]] std::optional<Duration> round_trip_to_source(std::uint32_t flow) const noexcept {
    return hosts_[flows_[flow].source].round_trip;
  }
  /// Whether all flows of the flow's source that show how they recover go back: a host has one kind
  /// of NIC.
  [[nodiscard]] bool source_goes_back(std::uint32_t flow) const noexcept {
    const Host& host = hosts_[flows_[flow].source];
    return host.going_back > 0 && host.selective == 0;
  }
  /// Shortest time from a NAK to the packet that it names, which the flow sends again. Of a flow
  /// that has gone back a few times only, others of its source may be sooner. Nothing: not seen.
  [[nodiscard]] std::optional<Duration> least_reaction(std::uint32_t flow) const noexcept {
    constexpr std::uint32_t kFew = 3;
    const RecoveryVotes& votes = *flows_[flow].recovery;
    const Host& host = hosts_[flows_[flow].source];
    const auto own = votes.least_reaction(host.round_trip);
    const bool goes_back = votes.scheme(host.round_trip) == RecoveryScheme::go_back_n;
    if (!goes_back || !host.reactions.least || votes.quick_reactions().count >= kFew) return own;
    return std::min(own.value_or(*host.reactions.least), *host.reactions.least);
  }
  [[nodiscard]] QuickReactions reactions_of_source(std::uint32_t flow) const noexcept {
    return hosts_[flows_[flow].source].reactions;
  }
  /// Bring what enter() needs of a later packet into the cache: the place of its flow, by the hash
  /// of its key, and then the flow.
  void fetch_place(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&recent_[recent_place(hash)]);
  }
  void fetch_recent(std::uint64_t hash) const noexcept { fetch(recent_[recent_place(hash)]); }
  /// Brings a flow into the cache; kNone: nothing.
  void fetch(std::uint32_t flow) const noexcept {
    if (flow != QpFlow::kNone) prefetch(&flows_[flow]);
  }
  /// Returns, once, which packets that enter() has assigned belong to other flows, as its last
  /// packet showed; nothing: none.
  [[nodiscard]] std::optional<MovedPackets> take_moved() noexcept {
    return std::exchange(moved_, std::nullopt);
  }

  /// Decides which flow is the peer, from the packets seen so far. Call it before the flow's first
  /// packet is analysed.
  void decide_peer(std::uint32_t flow);

  /// The path MTU of a flow of requests, in bytes; nothing: no packet shows it.
  [[nodiscard]] std::optional<std::uint32_t> mtu_of(std::uint32_t flow) const noexcept;

  [[nodiscard]] QpFlow& operator[](std::uint32_t flow) noexcept { return flows_[flow]; }
  [[nodiscard]] const QpFlow& operator[](std::uint32_t flow) const noexcept { return flows_[flow]; }
  [[nodiscard]] std::size_t size() const noexcept { return flows_.size(); }

 private:
  /// What is known about the host with one address, at one capture point.
  struct Host {
    std::uint32_t good_flows = 0;               // flows from it with a good ICRC
    std::uint64_t bad = 0;                      // of its packets: with a bad ICRC
    std::uint64_t unwritten = 0, mistaken = 0;  // of these: constants, and wrong in a known way
    std::uint64_t answers = 0;                  // flows of answers to its requests
    std::uint64_t sent = 0, sent_again = 0;     // its requests
    // Requests of others after an answer of this host: to go on, or to repeat what it answers.
    std::uint64_t heard = 0, unheard = 0;
    std::optional<Duration> round_trip = {};      // the shortest from a request to its answer
    std::uint32_t going_back = 0, selective = 0;  // flows from it that recover in these ways
    QuickReactions reactions = {};                // of all flows from it

    [[nodiscard]] IcrcState icrcs() const noexcept;
  };

  /// Whether a bad ICRC shows damage: other frames of the source have good ones.
  [[nodiscard]] bool is_damaged(const QpFlow& flow, const CapturedPacket& packet) const noexcept {
    return packet.bad_icrc && hosts_[flow.source].good_flows > 0;
  }
  void count_icrc(QpFlow& flow, const KeyedPacket& keyed) noexcept;
  void note_trimmed(const QpFlow& flow, const CapturedPacket& packet);
  void note_whole(QpFlow& flow, const CapturedPacket& packet);
  void note_hearing(const QpFlow& flow, const CapturedPacket& packet) noexcept;
  std::uint32_t host_of(const HostAddress& address, std::uint32_t point);
  std::uint32_t find(const KeyedPacket& keyed);
  [[nodiscard]] bool begins_flow(const QpFlow& flow, const CapturedPacket& packet) const noexcept;
  void note_restart(std::uint32_t requests, const CapturedPacket& packet);
  [[nodiscard]] bool shows_restart(const QpFlow& responses,
                                   const CapturedPacket& packet) const noexcept;
  std::uint32_t begin_next_connection(std::uint32_t responses);
  std::uint32_t begin_next(std::uint32_t flow);
  void note_undecided(std::uint32_t responses);
  void pair_by_nak(std::uint32_t requests, std::uint32_t psn);
  std::uint32_t begin(const QpFlowKey& key);
  [[nodiscard]] std::size_t recent_place(std::uint64_t hash) const noexcept {
    return hash & (recent_.size() - 1);
  }
  /// Returns the current flow of this key, which has this hash; kNone: none.
  std::uint32_t current_of(const QpFlowKey& key, std::uint64_t hash);
  std::uint32_t look_up(const QpFlowKey& key, std::uint32_t& recent) const;
  void end(std::uint32_t flow);
  void learn(QpFlow& flow, const CapturedPacket& packet);
  void learn_request(std::uint32_t index, const CapturedPacket& packet);
  void learn_response(std::uint32_t index, const CapturedPacket& packet);
  void learn_ack(QpFlow& requests, std::uint32_t psn);
  template <class Change>
  void change_votes(QpFlow& flow, Change change);
  static void probe(QpFlow& flow, const CapturedPacket& packet, bool is_new) noexcept;
  void take_probe(const QpFlow& responses, const CapturedPacket& packet) noexcept;
  void learn_connection(const QpFlowKey& key, const roce::CmSighting& heard);
  void match(std::uint32_t index, const CapturedPacket& packet);
  void find_candidates(std::uint32_t index, const CapturedPacket& packet);
  void add_candidates(std::uint32_t index, const CapturedPacket& packet);
  void note_listed(std::uint32_t index) noexcept {
    if (flows_[index].listed < 2) ++flows_[index].listed;
  }
  void weigh(QpFlow::Candidate& candidate, const CapturedPacket& packet);
  void judge_provisional(std::uint32_t index, const CapturedPacket& packet);
  void contest(std::uint32_t index) noexcept;
  void pair(std::uint32_t a, std::uint32_t b, PairedBy by);
  void pair_for_now(std::uint32_t a, std::uint32_t b, PairedBy by);
  void part(std::uint32_t index) noexcept;
  [[nodiscard]] bool is_free(const QpFlow& flow) const noexcept {
    return flow.peer == QpFlow::kNone && !flow.ended;
  }
  /// Whether its peer may still be decided.
  [[nodiscard]] bool is_open(const QpFlow& flow) const noexcept {
    return (flow.peer == QpFlow::kNone || flow.provisional) && !flow.ended;
  }
  /// Flows from one address to another with requests in one block of PSNs, in order of appearance.
  /// Flows that are no longer free are removed from time to time.
  using Group = std::vector<std::uint32_t>;
  void enter_groups(std::uint32_t index, std::uint32_t from_psn, std::uint32_t end_psn);
  template <class Fits>
  void add_fitting(const QpFlowKey& group, std::vector<QpFlow::Candidate>& to, Fits fits);
  template <class Fits>
  void add_requests(const QpFlow& flow, std::uint32_t psn, std::vector<QpFlow::Candidate>& to,
                    Fits fits);
  [[nodiscard]] std::vector<QpFlow::Candidate> possible_peers(const QpFlow& flow);
  /// Whether a provisional pair of two flows is the only one that either had.
  [[nodiscard]] bool is_alone(const QpFlow& flow) const noexcept {
    return flow.provisional && !flow.contested && flow.listed < 2 && flows_[flow.peer].listed < 2;
  }
  [[nodiscard]] bool is_undecided_between(const QpFlow& flow, const QpFlowKey& key) const noexcept;
  void decide_pairs(const QpFlowKey& key, bool for_good);
  void note_asked(QpFlow& flow, const CapturedPacket& packet);
  void forget_asked(QpFlow& flow) noexcept;

  std::vector<QpFlow> flows_;
  std::vector<Host> hosts_;
  std::unordered_map<QpFlowKey, std::uint32_t, QpFlowKeyHash> sources_;  // index into hosts_
  std::unordered_map<QpFlowKey, std::uint32_t, QpFlowKeyHash> current_;
  /// The flow used last, by the low bits of its key's hash: 19 ns to find one, instead of 40 with
  /// current_. Grows with flows_; its size is a power of two.
  std::vector<std::uint32_t> recent_ = std::vector<std::uint32_t>(1024, QpFlow::kNone);
  std::unordered_map<QpFlowKey, Group, QpFlowKeyHash> groups_;
  std::optional<MovedPackets> moved_;
  /// The packets at a point that are shorter than their IP lengths say.
  struct Trimmed {
    std::uint32_t length = 0;         // of the newest frame, in bytes; 0: there is none
    bool one_length = true;           // all have it
    std::uint32_t longest_whole = 0;  // frame of other packets, in bytes
  };
  std::map<std::uint32_t, Trimmed> trimmed_;  // by point
  bool in_doubt_ = false;                     // a host has sent wrong ICRCs only, at some time
  std::vector<std::uint32_t> undecided_;      // some responses with several candidates, in order
  std::uint32_t asking_ = 0;                  // flows with QpFlow::asked
  std::uint32_t open_naks_ = 0;               // of undecided flows; those decided since count too
  std::map<std::uint32_t, roce::CmLearner> learners_;  // by capture point
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "transport/fifo.h"
#include "transport/memory.h"
#include "transport/packet.h"
#include "transport/qp_config.h"
#include "transport/retransmissions.h"
#include "transport/work.h"

namespace lw::transport {

/// Counters of a requester.
struct RequesterCounters {
  std::uint64_t packets = 0, retransmitted = 0;
  std::uint64_t payload_bytes = 0;  // of requests, retransmissions included
  std::uint64_t fetched_bytes = 0;  // of READ responses, each counted once
  std::uint64_t sequence_naks = 0, rnr_naks = 0, implied_naks = 0, timeouts = 0;
  std::uint64_t ghosts = 0;  // responses to requests that are already complete
  std::uint64_t bad_answers = 0;
};

/// Retransmission timeout of a requester: a constant 4.096 us x 2^n or, with adaptive
/// retransmission, the measured round trip plus four mean deviations (RFC 6298's estimate, at least
/// 1.5 round trips), doubled at each expiry up to the constant. Vendors don't publish their
/// adaptive algorithm; this is our model of it.
class RetryTimer {
 public:
  explicit RetryTimer(const QpConfig& config) noexcept
      : configured_(transport_timeout(config.timeout)),
        off_(config.timeout == 0),
        adaptive_(config.adaptive_retransmission) {}

  /// Adds a round trip measured on a packet that was sent once only.
  void measured(Duration round_trip) noexcept {
    if (samples_++ == 0) {
      mean_ = round_trip;
      deviation_ = round_trip / 2;
      return;
    }
    const Duration error = round_trip - mean_;
    deviation_ += ((error < Duration{0} ? -error : error) - deviation_) / 4;
    mean_ += error / 8;
  }
  void expired() noexcept { doublings_ = std::min(doublings_ + 1, 30); }
  void progressed() noexcept { doublings_ = 0; }

  [[nodiscard]] Instant from(Instant now) const noexcept { return off_ ? kNever : now + wait(); }
  [[nodiscard]] Duration wait() const noexcept {
    if (!adaptive_ || samples_ == 0) return configured_;
    const Duration base = std::max(mean_ + 4 * deviation_, mean_ + mean_ / 2);
    return std::min(configured_, base * (std::int64_t{1} << doublings_));
  }
  /// The smoothed round trip; 0 before the first.
  [[nodiscard]] Duration round_trip() const noexcept { return mean_; }

 private:
  Duration configured_;
  Duration mean_{}, deviation_{};
  std::uint64_t samples_ = 0;
  int doublings_ = 0;
  bool off_, adaptive_;
};

/// The sending half of a QP: takes work requests, makes packets while its windows allow, and
/// completes requests in order as responses arrive. RC: go-back-N or selective repeat, timers, RNR.
/// UC and UD complete a message when its last packet is sent. Time is a parameter.
/// (IBTA vol. 1, 9.7 to 9.9)
///
/// Selective repeat is IRN's (R. Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM
/// 2018, section 3): each NAK names the expected PSN and a packet after the gap that arrived. A
/// packet without such a report counts as lost when a later one has it, and is sent again before
/// new packets; and once more for each report of a packet that was sent after that. If no such
/// report comes, the timer expires: the oldest packet is sent again, then all others that still
/// count as lost, and then the newest packet. IRN does not send the newest one. Its report shows
/// which packets at the end of the messages were lost; without it, each of them would wait for an
/// expiry of its own. (RFC 8985, 7, probes TCP's tail so.)
class Requester {
 public:
  /// All three outlive it; `memory` holds the work requests' local addresses.
  Requester(const QpConfig& config, Memory& memory, PayloadStore& store);

  /// False, and nothing is queued, if tx_depth requests are queued, or if the memory does not hold
  /// the request's local bytes. On a broken QP the request is flushed at once.
  bool post(const WorkRequest& request, Instant now);

  /// Whether next() has a packet now.
  [[nodiscard]] bool ready() const noexcept {
    assert(!known_ready_ || find_ready());
    if (!known_ready_) known_ready_ = find_ready();
    return known_ready_;
  }
  /// Overwrites `packet` with the next packet. Requires ready(). The caller owns the payload's
  /// slot.
  void next(Instant now, Packet& packet);

  /// Processes an ACK, NAK, READ response or ATOMIC ACK for this QP. The caller keeps the payload's
  /// slot.
  void receive(const Packet& packet, Instant now);

  /// When expire() is due; kNever: no timer runs. Each call may change it in both directions.
  [[nodiscard]] Instant deadline() const noexcept { return std::min(retry_at_, waits_until_); }
  void expire(Instant now);

  Fifo<Completion>& completions() noexcept { return completions_; }
  [[nodiscard]] const RequesterCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  [[nodiscard]] std::size_t posted() const noexcept { return queue_.size(); }
  [[nodiscard]] std::size_t outstanding_wqes() const noexcept { return begun_; }
  [[nodiscard]] std::uint64_t outstanding_psns() const noexcept { return high_ - una_; }
  [[nodiscard]] Duration round_trip() const noexcept { return timer_.round_trip(); }
  /// Number, from 1, of the request that the packet with this PSN belongs to, which next() returned
  /// last. Takes time in proportion to the requests that are not completed.
  [[nodiscard]] std::uint32_t number_of(wire::Psn psn) const noexcept;

 private:
  /// PSN without wrap-around: the stream's first is 0.
  using Sequence = std::uint64_t;

  struct Wqe {
    WorkRequest request;
    Sequence first = 0;
    std::uint32_t psns = 0;
    std::uint32_t ssn = 0;  // send sequence number, from 1 (IBTA vol. 1, 9.7.5.1.1)
    Instant posted;
    bool fetches = false;  // READ or atomic: completed by data, not by an ACK

    [[nodiscard]] Sequence end() const noexcept { return first + psns; }
    [[nodiscard]] bool takes_receive() const noexcept {
      return request.operation == wire::Operation::send || request.immediate;
    }
  };

  [[nodiscard]] wire::Psn psn_of(Sequence s) const noexcept {
    return config_.send_psn + static_cast<std::uint32_t>(s & wire::Psn::kMask);
  }
  [[nodiscard]] bool reliable() const noexcept { return config_.transport == wire::Transport::rc; }
  /// Whether a request may start that has not sent a packet.
  [[nodiscard]] bool may_begin(const Wqe& wqe) const noexcept {
    if (begun_ >= config_.max_outstanding_wqe) return false;
    if (wqe.fetches) return fetching_ < config_.max_rd_atomic;
    // Without credit, one message may still go alone: its RNR NAK or ACK brings new credits.
    return !config_.end_to_end_credits || !wqe.takes_receive() || wqe.ssn <= credit_limit_ ||
           begun_ == 0;
  }
  [[nodiscard]] bool find_ready() const noexcept {
    if (!usual_) [[unlikely]] {
      if (broken_ || waits_until_ != kNever) return false;
      if (lost_ != kNone) return true;
    }
    if (cursor_wqe_ >= queue_.size()) return false;
    const Wqe& wqe = queue_[cursor_wqe_];
    return !reliable() || ((cursor_wqe_ < begun_ || may_begin(wqe)) && fits_window(wqe));
  }
  /// A READ uses the PSNs of its whole response: it fits as a whole, or goes alone.
  [[nodiscard]] bool fits_window(const Wqe& wqe) const noexcept {
    const Sequence end = wqe.fetches ? wqe.end() : cursor_ + 1;
    return end - una_ <= window_ || cursor_ == una_;
  }

  [[gnu::noinline]] void next_lost(Instant now, Packet& packet);
  void make(Packet& packet, const Wqe& wqe, Sequence at);
  [[nodiscard]] bool asks_in_between(std::uint64_t index) const noexcept;
  void fill_transfer(Packet& packet, const Wqe& wqe, std::uint64_t index);
  [[gnu::noinline]] void fill_fetch(Packet& packet, const Wqe& wqe,
                                    std::uint64_t index) const noexcept;
  void begin(const Wqe& wqe) noexcept;
  void sent(Sequence at, Sequence end, Instant now);
  [[nodiscard]] Wqe& wqe_at(Sequence s) noexcept;

  void on_ack(const Packet& packet, Sequence s, Instant now);
  [[gnu::noinline]] void on_other(const Packet& packet, Sequence s, Instant now);
  void on_nak(const Packet& packet, Sequence s, Instant now);
  void on_selective_nak(const Packet& packet, Sequence s, Instant now);
  [[nodiscard]] Sequence find_lost() noexcept;
  [[nodiscard]] Sequence newest_unreported() noexcept;
  void note_sent_again(const Wqe& wqe, Sequence at) noexcept;
  void on_rnr(const Packet& packet, Sequence s, Instant now);
  void on_data(const Packet& packet, Sequence s, Instant now);
  bool take_data(const Packet& packet, Sequence s) noexcept;
  bool acknowledge(Sequence up_to, Instant now);
  void progressed(Instant now);
  [[gnu::noinline]] void forget_reports() noexcept;
  void forget_resent() noexcept;
  void look_again() noexcept {
    lost_ = find_lost();
    usual_ = !broken_ && waits_until_ == kNever && !resends_oldest_ && !resends_newest_ &&
             reported_to_ <= una_;
    known_ready_ = false;
  }
  [[gnu::noinline]] void lost_answer(Instant now);
  void go_back(Instant now);
  void wait(Duration time, Instant now);
  void complete(Status status, Instant now, std::uint64_t original = 0);
  void fail(Status status, Instant now);
  [[gnu::noinline]] void take_credits(const Packet& packet) noexcept;

  static constexpr Sequence kNone = ~Sequence{0};

  // What each packet needs is together, in four cache lines: a simulation of many QPs waits for
  // little else.
  const QpConfig& config_;
  Memory& memory_;
  PayloadStore& store_;
  const OpcodeSet& opcodes_;
  Sequence una_ = 0;            // the oldest not acknowledged
  Sequence cursor_ = 0;         // the next to be sent
  Sequence high_ = 0;           // after the newest ever sent
  std::size_t begun_ = 0;       // requests sent at least partly
  std::size_t cursor_wqe_ = 0;  // the request whose packet is next
  Instant retry_at_ = kNever;
  Instant waits_until_ = kNever;  // after an RNR NAK, or while the NIC reacts to a NAK
  std::uint32_t fetching_ = 0;    // READs and atomics that are begun
  std::uint32_t window_;          // most PSNs not acknowledged
  std::uint8_t retries_left_, rnr_left_;
  bool broken_ = false;
  bool usual_ = true;  // not broken, no wait, no selective repeat: one test for all
  /// ready() was true and still is: progress and posts only allow more.
  mutable bool known_ready_ = false;
  std::uint32_t posted_count_ = 0;
  Sequence assigned_ = 0;  // after the newest posted
  Sequence timed_ = 0;     // the PSN whose round trip is being measured
  Instant timed_at_ = kNever;
  RetryTimer timer_;
  Fifo<Wqe> queue_;  // oldest first, until completed
  Fifo<Completion> completions_;
  RequesterCounters counters_;

  Sequence implied_at_ = kNone;       // position of the last implied NAK
  std::uint32_t credit_limit_ = ~0u;  // the highest SSN that may take a receive
  // Selective repeat.
  SlidingBits reported_;      // packets that NAKs report as arrived
  Sequence reported_to_ = 0;  // after the newest of them
  Sequence lost_from_ = 0;    // lost packets before it have been sent again
  Retransmissions resent_;
  Fifo<Sequence> lost_again_;    // of those
  Sequence lost_ = kNone;        // the next one to be sent again
  bool resends_oldest_ = false;  // after an expiry
  bool resends_newest_ = false;  // after an expiry, once all that count as lost are sent again
};

}  // namespace lw::transport

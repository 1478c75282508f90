// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "analysis/findings/facts.h"
#include "analysis/findings/kept_packets.h"
#include "wire/psn.h"

namespace lw::analysis {

/// Learns how a sender answers NAKs "PSN sequence error": what it sends after the packet that a NAK
/// names shows whether it goes back or repeats this packet only.
///
/// A packet that comes late after its NAK looks as if it were repeated alone. So a few senders that
/// seem to repeat single packets go back: kWeight votes for this are worth one for going back. If
/// the packet comes again, the sender's answer is its second appearance.
class RecoveryVotes {
 public:
  /// A NAK names `psn`. `end`: one past the highest PSN sent before. `next_came`: its packet was
  /// skipped here, and the one after it was not.
  void add_nak(std::uint32_t psn, Instant stamp, std::uint32_t end,
               bool next_came = false) noexcept {
    add_ack((psn - 1) & wire::Psn::kMask);
    kept_.add_nak(psn, end);
    // The receiver still misses it: what came was the answer, and was lost.
    if (Alone* const one = alone_with(psn)) close(*one);
    if (was_discarded(psn)) {
      ++discards_;
      run_.reset();
    }
    // It keeps what comes behind a gap, so the packet that fills it shows the next gap.
    if (run_ && run_->named && run_->packets == 1 && run_->is_before(psn)) {
      add_alone(*run_);
      run_.reset();
    }
    if (asking_for(psn) == nullptr)
      naks_[newest_ = (newest_ + 1) % naks_.size()] = {psn, stamp, next_came};
  }
  /// All up to `psn` are acknowledged.
  void add_ack(std::uint32_t psn) noexcept { kept_.add_ack(psn); }
  /// Whether a NAK waits for its answer, or its answer may come again. Otherwise add() and
  /// add_ack() have no effect.
  [[nodiscard]] bool is_open() const noexcept {
    return naks_[newest_].psn || run_ || selective_.count > 0 || kept_.is_open();
  }
  /// Adds a request with `psn`. `before`: PSN of the request before it. `end`: one past the highest
  /// PSN sent before it. `fetches`: a READ or atomic. `soonest`: a packet that comes sooner after a
  /// NAK is no answer to it.
  void add(std::uint32_t psn, std::uint32_t before, std::uint32_t end, Instant stamp,
           bool fetches = false, Duration soonest = {}) noexcept {
    kept_.add_request(psn);
    note_again(psn, before, end, stamp);
    if (run_) follow(psn, stamp);
    Asked* const exact = asking_for(psn);
    Asked& nak = exact != nullptr ? *exact : naks_[newest_];
    if (!nak.psn || wire::Psn{before} + 1 == wire::Psn{psn}) return;  // a recovery before the NAK
    if (stamp_difference(stamp, nak.stamp) < soonest) return;         // it was late
    const auto below = wire::Psn::distance(wire::Psn{psn}, wire::Psn{*nak.psn});
    if (below < 0 || below > kFar || wire::Psn::distance(wire::Psn{psn}, wire::Psn{end}) <= 1)
      return;
    // It goes back for a response that it misses, however it answers NAKs.
    if (fetches && below > 0) return nak.psn.reset();
    run_ = Run{.first = psn,
               .next = psn + 1,
               .end = end,
               .interrupted = (before + 1) & wire::Psn::kMask,
               .named = below == 0,
               .next_came = below == 0 && nak.next_came,
               .asked_before = alone_with(psn) != nullptr,
               .asked = nak.stamp,
               .last = stamp};
    run_->reaction = stamp_difference(stamp, nak.stamp);
    nak.psn.reset();
  }

  /// `round_trip`: from here to the sender and back; nothing: unknown.
  [[nodiscard]] RecoveryScheme scheme(std::optional<Duration> round_trip = {}) const noexcept {
    const bool by_timer = slow_by_timer() || is_slower_than(round_trip);
    const std::uint32_t back = go_back_n_.count + discards_ + (by_timer ? 0 : slow_.count);
    if (selective_.count + back + kept_.count() == 0) return RecoveryScheme::unknown;
    const std::uint32_t alone = std::max(kWeight * kept_.count(), selective_.count);
    return alone > kWeight * back ? RecoveryScheme::selective : RecoveryScheme::go_back_n;
  }
  /// Shortest time from a NAK to the packet that it names, sent by scheme(); nothing: not seen.
  [[nodiscard]] std::optional<Duration> least_reaction(
      std::optional<Duration> round_trip = {}) const noexcept {
    constexpr std::uint32_t kEnough = 2;  // one may be by a timer
    if (scheme(round_trip) != RecoveryScheme::go_back_n) {
      const auto least = least_alone();
      const bool may_be_timer = selective_.count < kEnough && least >= kShortTimer;
      return may_be_timer && !is_of_long_path(*least, round_trip) ? std::nullopt : least;
    }
    if (go_back_n_.least) return go_back_n_.least;
    return slow_.count >= kEnough ? slow_.least : std::nullopt;
  }
  /// The times that the sender went back so soon after a NAK that no timer did it.
  [[nodiscard]] QuickReactions quick_reactions() const noexcept {
    return {go_back_n_.count, go_back_n_.least};
  }

 private:
  /// A NAK that waits for its answer. It may be repeated; a sender answers the first one.
  struct Asked {
    std::optional<std::uint32_t> psn = {};
    Instant stamp = {};
    bool next_came = false;  // the packet after it was seen before it was
  };
  /// Packets that were repeated after a NAK, from the one that it names, or an earlier one.
  struct Run {
    std::uint32_t first = 0, next = 0;  // next: one past its newest PSN
    std::uint32_t end = 0;              // one past the highest PSN sent before
    std::uint32_t interrupted = 0;      // where a recovery before it goes on, if one does
    std::uint32_t packets = 1;
    bool named = false;         // first is the packet that the NAK names
    bool next_came = false;     // as in Asked
    bool asked_before = false;  // an earlier NAK named first, and a packet came alone
    Instant asked = {};         // when the NAK came
    Instant last = {};          // its newest packet
    Duration reaction{};        // from then to its first packet

    /// Whether a recovery before it goes on with `psn`, perhaps behind lost packets.
    [[nodiscard]] bool is_interrupted_at(std::uint32_t psn) const noexcept {
      const auto ahead = wire::Psn::distance(wire::Psn{interrupted}, wire::Psn{psn});
      return ahead >= 0 && ahead < wire::Psn::distance(wire::Psn{next}, wire::Psn{interrupted});
    }
    /// Whether `psn` was sent before it, and is not below its next packet.
    [[nodiscard]] bool is_before(std::uint32_t psn) const noexcept {
      return wire::Psn::distance(wire::Psn{next}, wire::Psn{psn}) >= 0 &&
             wire::Psn::distance(wire::Psn{psn}, wire::Psn{end}) > 0;
    }
  };
  struct Votes {
    std::uint32_t count = 0;
    std::optional<Duration> least = {};  // reaction

    void add(const Run& run) noexcept {
      ++count;
      if (run.named) note(run.reaction);
    }
    void note(Duration reaction) noexcept { least = std::min(least.value_or(reaction), reaction); }
  };
  /// A packet that came alone after its NAK: late, or sent again. It may come again.
  struct Alone {
    std::optional<std::uint32_t> psn = {};
    Instant asked = {};
    Duration reaction{};
    std::optional<Duration> again = {};  // reaction() of its second appearance: it was late
    bool next_came = false;              // as in Asked

    /// What the sender needed to answer.
    [[nodiscard]] Duration needed() const noexcept { return again.value_or(reaction); }
  };

  static constexpr std::uint32_t kWeight = 4;
  static constexpr int kPause = 32;  // a sender in software pauses, by some times its reaction
  static constexpr Duration kShortTimer = std::chrono::microseconds{500};
  static constexpr std::int32_t kFar = 1024;  // packets that a sender goes back at most

  [[nodiscard]] Asked* asking_for(std::uint32_t psn) noexcept {
    const auto nak = std::ranges::find(naks_, std::optional(psn), &Asked::psn);
    return nak == naks_.end() ? nullptr : &*nak;
  }
  [[nodiscard]] Alone* alone_with(std::uint32_t psn) noexcept {
    const auto one = std::ranges::find(alone_, std::optional(psn), &Alone::psn);
    return one == alone_.end() ? nullptr : &*one;
  }
  void close(Alone& one) noexcept {
    if (one.psn && one.again) ++again_.count;
    if (one.psn) (one.again ? again_ : selective_).note(one.needed());
    one.psn.reset();
  }
  /// Whether the sender answered another NAK about as soon, as far as is known.
  [[nodiscard]] bool is_usual(const Alone& one) const noexcept {
    constexpr int kFactor = 4;
    return std::ranges::any_of(alone_, [&](const Alone& other) {
      return other.psn && other.psn != one.psn && !other.again &&
             other.reaction <= kFactor * one.reaction && one.reaction <= kFactor * other.reaction;
    });
  }
  /// Notes that a packet comes again alone. Among others, a timer repeats it.
  void note_again(std::uint32_t psn, std::uint32_t before, std::uint32_t end,
                  Instant stamp) noexcept {
    const bool in_a_row = wire::Psn{before} + 1 == wire::Psn{psn} &&
                          wire::Psn::distance(wire::Psn{psn}, wire::Psn{end}) > 0;
    Alone* const first = in_a_row ? alone_with(before) : nullptr;
    if (first != nullptr && first->again && is_usual(*first)) {
      first->again.reset();
      close(*first);
    }
    Alone* const one = in_a_row || psn == before ? nullptr : alone_with(psn);
    if (one != nullptr && !one->again) one->again = stamp_difference(stamp, one->asked);
  }
  /// Whether a NAK of `psn` shows that the receiver discards what comes behind a gap: the packet
  /// before filled the gap, and this one, which had shown it, has come before.
  [[nodiscard]] bool was_discarded(std::uint32_t psn) noexcept {
    if (run_ && run_->next_came && run_->packets == 1 && psn == run_->next) return true;
    const Alone* const before = alone_with((psn - 1) & wire::Psn::kMask);
    return before != nullptr && before->next_came && !before->again;
  }
  /// Whether the path to the sender may be so long that it takes `reaction` to answer.
  [[nodiscard]] static bool is_of_long_path(Duration reaction,
                                            std::optional<Duration> round_trip) noexcept {
    constexpr int kFarLonger = 16;
    return round_trip && reaction <= kFarLonger * *round_trip;
  }
  /// Whether what went back slowly was a timer: no sender is that much slower than the path to it.
  [[nodiscard]] bool is_slower_than(std::optional<Duration> round_trip) const noexcept {
    return round_trip && slow_.least && !is_of_long_path(*slow_.least, round_trip);
  }
  /// Whether what went back slowly was a timer: the sender answers NAKs far sooner.
  [[nodiscard]] bool slow_by_timer() const noexcept {
    constexpr int kFarLater = 4;
    const auto alone = least_alone();
    return alone && slow_.least && *slow_.least > kFarLater * *alone;
  }
  /// The least of three reactions that are equal, but for an eighth. A sender answers after about
  /// the same time, and what the path delays comes after any time. Zero: no three are equal.
  [[nodiscard]] Duration usual_alone() const noexcept {
    constexpr int kTolerance = 8;  // divided by
    constexpr std::size_t kEnough = 3;
    std::array<Duration, 16> sorted;
    std::size_t count = 0;
    for (const Alone& one : alone_)
      if (one.psn) sorted[count++] = one.needed();
    std::sort(sorted.begin(), sorted.begin() + count);
    for (std::size_t i = 0; i + kEnough <= count; ++i)
      if (sorted[i + kEnough - 1] - sorted[i] <= sorted[i] / kTolerance) return sorted[i];
    return {};
  }
  /// Shortest reaction of a sender that repeats single packets. Where packets came twice, what came
  /// far sooner than the second ones was late as well, and not repeated.
  [[nodiscard]] std::optional<Duration> least_alone() const noexcept {
    constexpr int kFarSooner = 8;
    auto again = again_.least;
    auto once = selective_.least;
    std::uint32_t twice = again_.count;
    for (const Alone& one : alone_) {
      if (!one.psn) continue;
      auto& least = one.again ? again : once;
      least = std::min(least.value_or(one.needed()), one.needed());
      twice += one.again.has_value();
    }
    constexpr std::uint32_t kEnough = 2;
    if (!once || (twice >= kEnough && *once < *again / kFarSooner)) return again;
    return std::max(again ? std::min(*once, *again) : *once, usual_alone());
  }
  /// Votes for a sender that repeats single packets.
  void add_alone(const Run& run) noexcept {
    Alone& place = alone_[selective_.count++ % alone_.size()];
    close(place);
    place = {
        .psn = run.first, .asked = run.asked, .reaction = run.reaction, .next_came = run.next_came};
  }

  /// Adds a request to run_, or ends it.
  void follow(std::uint32_t psn, Instant stamp) noexcept {
    constexpr std::uint32_t kMany = 3;  // a selective sender rarely loses as many in a row
    const wire::Psn sent{psn}, end{run_->end};
    if (psn == run_->first) {
      // What came before was late; behind others, this one is.
      if (run_->packets == 1) run_->reaction = stamp_difference(stamp, run_->asked);
      return;
    }
    const bool is_new = wire::Psn::distance(end, sent) >= 0;
    // A sender that goes back sends its packets in a row. This begins another recovery, or the one
    // before goes on.
    if (run_->packets == 1 && run_->named && psn != run_->next &&
        (run_->is_interrupted_at(psn) || stamp_difference(stamp, run_->last) >= kShortTimer)) {
      add_alone(*run_);
      return run_.reset();
    }
    run_->last = stamp;
    if (!is_new && wire::Psn::distance(wire::Psn{run_->next}, sent) >= 0) {
      // Its first packet came far before: it was late.
      const Duration reaction = stamp_difference(stamp, run_->asked);
      if (run_->packets == 1 && reaction / kPause > run_->reaction) run_->reaction = reaction;
      run_->next = psn + 1;
      ++run_->packets;
      return;
    }
    const bool up_to_end = run_->packets > 1 && wire::Psn{run_->next} == end;
    // What begins before the packet that its NAK names answers an earlier NAK, or none.
    const bool is_answer = run_->named || run_->asked_before;
    if (is_answer && (up_to_end || run_->packets >= kMany))
      (run_->reaction < kShortTimer ? go_back_n_ : slow_).add(*run_);
    else if (is_new && run_->packets == 1 && run_->named)
      add_alone(*run_);
    run_.reset();
  }

  std::array<Asked, 4> naks_;  // the newest: over a long path, several are on their way
  std::size_t newest_ = 0;
  std::optional<Run> run_;
  Votes go_back_n_, selective_;
  Votes slow_;   // went back, after so long that a timer may have run
  Votes again_;  // of selective_: packets that came twice
  KeptPackets kept_;
  std::uint32_t discards_ = 0;   // NAKs of packets that the receiver had got
  std::array<Alone, 16> alone_;  // the newest of selective_
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// A NAK or an RNR NAK.
struct Nak {
  Sequence psn = 0;
  std::uint64_t frame = 0;
  Instant stamp = {};
  Instant newest = {};  // when it came last: a receiver may repeat it
  bool rnr = false;
  bool used = false;  // a recovery began because of it, or has repeated its packet since
  bool late = false;  // the packet that it asks for was late, not lost
  /// It repeats a NAK, and came too soon after the newest transmission to be an answer to it.
  bool outdated = false;
  Cause refusal = Cause::none;  // fatal_nak: the QP is in the error state

  /// Whether it was repeated, and nothing has answered the repetition so far.
  [[nodiscard]] bool is_repeated() const noexcept { return newest > stamp; }
};

/// The last NAKs of one direction, in order of arrival. Finds the NAK that a retransmission
/// follows. Pointers are valid until the next add().
class NakLog {
 public:
  void add(const Nak& nak) {
    constexpr std::size_t kMost = 64;
    if (naks_.size() == kMost) naks_.erase(naks_.begin());
    naks_.push_back(nak);
  }
  // What is said about the NAK in a frame; nothing happens if it is not one of the last.

  /// A recovery has begun because of it, or has repeated its packet.
  void use(std::uint64_t frame) noexcept {
    apply(frame, [](Nak& nak) { nak.used = true; });
  }
  /// What was taken for an answer to it is none: it is open once more. Returns whether it had been
  /// used.
  bool reopen(std::uint64_t frame) noexcept {
    bool used = false;
    apply(frame, [&used](Nak& nak) { used = std::exchange(nak.used, false); });
    return used;
  }
  /// The packet that it asks for was late, not lost.
  void note_late(std::uint64_t frame) noexcept {
    apply(frame, [](Nak& nak) { nak.late = true; });
  }
  /// The receiver has sent it once more.
  void note_repeated(std::uint64_t frame, Instant stamp) noexcept {
    apply(frame, [stamp](Nak& nak) { nak.newest = stamp; });
  }
  /// A recovery has begun because it was repeated.
  void use_repetition(std::uint64_t frame) noexcept {
    apply(frame, [](Nak& nak) { nak.stamp = nak.newest; });
  }

  /// Returns the NAK that a retransmission from `psn` follows: a NAK of this PSN, else one of a
  /// later PSN that isn't acknowledged. `acknowledged`: one past the highest acknowledged PSN.
  /// Null: none.
  [[nodiscard]] const Nak* asking_for(Sequence psn, Sequence acknowledged) const noexcept {
    const auto names = [psn](const Nak& nak) { return !nak.used && nak.psn == psn; };
    const auto open = [=](const Nak& nak) {
      return !nak.used && nak.psn >= psn && nak.psn >= acknowledged;
    };
    auto nak = std::ranges::find_if(naks_, names);
    if (nak == naks_.end()) nak = std::ranges::find_if(naks_, open);
    return nak == naks_.end() ? nullptr : &*nak;
  }

  /// Returns the oldest unused NAK, not RNR, of this PSN; null: none.
  [[nodiscard]] const Nak* of_psn(Sequence psn) const noexcept {
    const auto nak = std::ranges::find_if(
        naks_, [psn](const Nak& one) { return !one.rnr && !one.used && one.psn == psn; });
    return nak == naks_.end() ? nullptr : &*nak;
  }

  /// Returns the NAK, not RNR, of `psn` that a recovery has followed, and that was repeated before
  /// its packet passed; null: none.
  [[nodiscard]] const Nak* repeated_of(Sequence psn) const noexcept {
    const auto nak = std::ranges::find_if(naks_, [psn](const Nak& one) {
      return !one.rnr && one.used && one.psn == psn && one.is_repeated();
    });
    return nak == naks_.end() ? nullptr : &*nak;
  }

  /// When a NAK, not RNR, named `psn` last; nothing: none did.
  [[nodiscard]] std::optional<Instant> stamp_of(Sequence psn) const noexcept {
    std::optional<Instant> stamp;
    for (const Nak& nak : naks_)
      if (!nak.rnr && nak.psn == psn) stamp = nak.stamp;
    return stamp;
  }

  /// Whether a NAK, not RNR, names a lower PSN and no recovery has followed it: its packet came
  /// late, and the receiver has discarded those after it. A receiver may repeat a NAK while the
  /// recovery that it asked for is on its way. `acknowledged`: one past the highest acknowledged
  /// PSN; the receiver discarded nothing before it.
  [[nodiscard]] bool has_open_before(Sequence psn, Sequence acknowledged) const noexcept {
    return std::ranges::any_of(naks_, [=, this](const Nak& nak) {
      return !nak.rnr && !nak.used && nak.psn < psn && nak.psn + 1 >= acknowledged &&
             !was_answered(nak.psn);
    });
  }

  /// Returns the frame of the newest unused NAK, not RNR, with a PSN in [first, last]; 0: none.
  [[nodiscard]] std::uint64_t frame_naming(Sequence first, Sequence last) const noexcept {
    std::uint64_t frame = 0;
    for (const Nak& nak : naks_)
      if (!nak.rnr && !nak.used && nak.psn >= first && nak.psn <= last) frame = nak.frame;
    return frame;
  }

  /// Returns the NAK in this frame; null if it isn't one of the last.
  [[nodiscard]] const Nak* of_frame(std::uint64_t frame) const noexcept {
    const auto nak = std::ranges::find(naks_, frame, &Nak::frame);
    return nak == naks_.end() ? nullptr : &*nak;
  }

  /// Returns the newest NAK, not RNR, with a PSN in [low, high] that came in [first, last]; null:
  /// none.
  [[nodiscard]] const Nak* of_time(Sequence low, Sequence high, Instant first,
                                   Instant last) const noexcept {
    const Nak* nak = nullptr;
    for (const Nak& one : naks_)
      if (!one.rnr && one.psn >= low && one.psn <= high && one.stamp >= first && one.stamp <= last)
        nak = &one;
    return nak;
  }

  /// Whether a NAK names `psn` that a recovery has followed.
  [[nodiscard]] bool was_answered(Sequence psn) const noexcept {
    return std::ranges::any_of(naks_, [psn](const Nak& nak) { return nak.used && nak.psn == psn; });
  }

  /// How the newest NAK of `psn` refused it for good, if nothing more was sent; none: it did not.
  [[nodiscard]] Cause refusal_of(Sequence psn) const noexcept {
    Cause refusal = Cause::none;
    for (const Nak& nak : naks_)
      if (nak.psn == psn) refusal = nak.rnr ? Cause::rnr_exhausted : nak.refusal;
    return refusal;
  }

  /// Whether an RNR NAK names `psn`. A receiver without a buffer may report the packets after it as
  /// out of sequence.
  [[nodiscard]] bool was_refused(Sequence psn) const noexcept {
    return std::ranges::any_of(naks_, [psn](const Nak& nak) { return nak.rnr && nak.psn == psn; });
  }

 private:
  template <class Change>
  void apply(std::uint64_t frame, Change change) noexcept {
    const auto nak = std::ranges::find(naks_, frame, &Nak::frame);
    if (nak != naks_.end()) change(*nak);
  }

  std::vector<Nak> naks_;
};

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/histogram.h"
#include "emulator/frame_access.h"
#include "emulator/ledger.h"
#include "emulator/pipeline.h"
#include "emulator/queue/release_queue.h"
#include "emulator/stats/accounting.h"

namespace lw::emulator {

struct LinkConfig {
  std::size_t capacity = 65536;       // frames that may wait for their release
  std::size_t egress_capacity = 512;  // frames that may wait for the way out
  bool log_all = false;               // every frame goes into the ledger
  std::size_t most_rules = 512;       // that replace() may bring, with the first ones
};

/// One direction through the box: frames come in, a pipeline decides, the release queue holds
/// them, and they leave through a bounded egress buffer. Every frame is accounted for. It reads
/// no clock and touches no device; the caller's frames are `Handle`s, which it changes and copies
/// through `Frames` alone.
///
///   admit() -> pipeline -> [held back] -> [release queue] -> release() -> [egress] -> sent()
///
/// One thread. Nothing is allocated after construction.
template <class Handle, FrameAccess<Handle> Frames = NoFrameAccess<Handle>>
class Link {
 public:
  Link(Pipeline pipeline, const LinkConfig& config, LedgerSink* sink = nullptr,
       Frames frames = Frames());

  /// A frame came in at `now`. True: the link keeps the handle until egress() hands it out.
  /// False: the frame is dropped and counted, and the handle is still the caller's.
  /// `record`, where given, is filled as the frame's record in the ledger would be.
  [[nodiscard]] bool admit(Handle handle, const roce::Envelope& envelope, Instant now,
                           LedgerRecord* record = nullptr) noexcept;

  /// A frame came in through a port whose link is down: it is counted and dropped, and is still the
  /// caller's.
  void turn_away(const roce::Envelope& envelope, Instant now,
                 LedgerRecord* record = nullptr) noexcept;

  /// The same for frames that came in together. Those that are dropped are put into `dropped`,
  /// which has room for all; returns how many they are. Frames::bytes(handle) are a frame's bytes,
  /// Frames::length(handle) what was on the wire, Frames::open(handle) its envelope: frames that
  /// one rule decides about, whatever stands in them, are not opened.
  [[nodiscard]] std::size_t admit(std::span<const Handle> frames, Instant now,
                                  std::span<Handle> dropped) noexcept;

  /// A frame came in for which the caller had no buffer: it is counted and dropped. Always false.
  bool admit_without_buffer(const roce::Envelope& envelope, Instant now,
                            LedgerRecord* record = nullptr) noexcept {
    return refuse_unseen(ResourceDrop::no_buffer, Disposition::no_buffer, envelope, now, record);
  }

  /// A pause frame came in for the queues of the other direction: it is counted, and is still the
  /// caller's. Always false.
  bool consume(const roce::Envelope& envelope, Instant now,
               LedgerRecord* record = nullptr) noexcept;
  /// Those behind ask for silence: see Rule::pause().
  void pause(const wire::PfcFields& asked, Instant now) noexcept;
  /// The silence that the queues ask those before them for now; nothing where there is none to ask
  /// for.
  [[nodiscard]] std::optional<wire::PfcFields> asks_for(Instant now) noexcept;
  /// A frame of the box's own goes out with the others. False: the way out is blocked, which is
  /// counted, and it is still the caller's.
  [[nodiscard]] bool create(Handle handle, std::uint32_t bytes, Instant now) noexcept;

  /// Moves what is due at `now` to the egress buffer, as far as it has room beyond `spare` frames:
  /// those of a burst that was taken because there was room for it, and is admitted next.
  void release(Instant now, std::size_t spare = 0) noexcept;

  /// What replace() needs. The caller prepares it outside the data path, as it allocates.
  struct PreparedPipeline {
    explicit PreparedPipeline(Pipeline next);
    Pipeline pipeline;
    std::vector<Held<QueueEntry<Handle, Frames>>> held;
  };
  /// Another pipeline of this direction decides from `now` on; its rules were given the names that
  /// this one knows. What is inside keeps the release that it was given, and order is kept where
  /// it was asked for. What is replaced is in `next` afterwards.
  void replace(PreparedPipeline& next, Instant now) noexcept;
  /// How many names of rules this link may come to know.
  [[nodiscard]] std::size_t most_rules() const noexcept { return rules_.size() - 1; }

  /// What should go out now, in order; not necessarily all of it (a ring has an end).
  [[nodiscard]] std::span<Handle> egress() noexcept { return egress_.contiguous(); }
  /// The first `count` of egress() went out at `now`.
  void sent(std::size_t count, Instant now) noexcept;

  /// What is known of the i-th of egress(), and its ingress frame number; where each frame was
  /// admitted alone.
  [[nodiscard]] const Transit& egress_transit(std::size_t i) const noexcept {
    return leaving_[i].transit;
  }
  [[nodiscard]] std::uint64_t egress_number(std::size_t i) const noexcept;
  /// The way out is down: gives every frame of egress() back through `drop(handle)`, counted and
  /// logged as such. `view(handle)` is its envelope.
  template <class View, class Drop>
  void lose_egress(View view, Drop drop) noexcept;

  /// Gives every frame that is inside back through `drop(handle)`, counted and logged as stopped:
  /// the run is over. `view(handle)` is its envelope.
  template <class View, class Drop>
  void abandon(View view, Drop drop) noexcept;

  /// Records gathered since the last call go to the sink: once a burst.
  void flush_ledger() noexcept { ledger_.flush(); }

  [[nodiscard]] std::size_t egress_size() const noexcept { return egress_.size(); }
  [[nodiscard]] std::size_t egress_room() const noexcept { return egress_.room(); }
  [[nodiscard]] std::size_t queue_room() const noexcept {
    return queue_.capacity() - queue_.size() - held_frames_;
  }
  /// When the next waiting frame is due; ReleaseQueue::kNever when none waits.
  [[nodiscard]] Instant next_release() const noexcept {
    return std::min(queue_.next(), next_deadline_);
  }
  /// A hint that there is time to fetch what will be due next: to send a frame some devices read
  /// it.
  void fetch_next() const noexcept { queue_.fetch_next(); }
  /// When a queue must be asked again for what it asks for; kNever where none does.
  [[nodiscard]] Instant next_ask() const noexcept { return next_ask_; }
  [[nodiscard]] std::size_t inside() const noexcept {
    return queue_.size() + held_frames_ + egress_.size();
  }

  /// The accounting as of now. Walks what is inside: for reports.
  [[nodiscard]] Accounting accounting() const;
  /// The same without the walk: what is in flight is what the other figures leave.
  [[nodiscard]] Accounting running_accounting() const;
  /// The direction's totals without the walk: for a line a second.
  [[nodiscard]] const AccountCounters& counters() const noexcept { return direction_; }
  /// Achieved minus asked release of what waited, ns.
  [[nodiscard]] const Histogram& release_error() const noexcept { return release_error_; }
  /// What rules asked of the frames that wait: release asked for minus arrival, ns. Copies too. Of
  /// a batch, one frame speaks for all: each frame of its own costs 16 % of the speed with
  /// independent jitter.
  [[nodiscard]] const Histogram& delay() const noexcept { return delay_; }
  /// What the box itself took for frames that no rule delays, ns.
  [[nodiscard]] const Histogram& pass_latency() const noexcept { return pass_latency_; }
  [[nodiscard]] const Pipeline& pipeline() const noexcept { return pipeline_; }

 private:
  using Queue = ReleaseQueue<Handle, Frames>;
  using Entry = QueueEntry<Handle, Frames>;
  /// A train before the way out.
  struct Leaving {
    Transit transit;
    Instant due;
  };

  static constexpr std::size_t kCountedTogether = 64;

  AccountCounters& counters_of(RuleIndex rule) noexcept {
    return rules_[rule == kUntouched ? rules_.size() - 1 : rule];
  }
  /// What each rule of the pipeline holds back: nothing yet.
  static std::vector<Held<Entry>> held_of(const Pipeline& pipeline);
  void receive(const Decision& decision, const Arrival& arrival) noexcept;
  [[nodiscard]] std::span<const Handle> stored(std::span<const Handle> frames,
                                               Duration wait) noexcept;
  [[nodiscard]] Handle stored(Handle handle, const Arrival& arrival, const Decision& decision,
                              std::uint8_t copy) noexcept;
  void enter_batch(Rule& rule, std::span<const Handle> frames, Instant now) noexcept;
  std::uint64_t enter_in_trains(std::span<const Handle> frames, const Transit& like) noexcept;
  std::uint64_t enter_singly(std::span<const Handle> frames, const Transit& like) noexcept;
  [[nodiscard]] std::uint64_t find_targeted(std::span<const Handle> frames, bool decides) noexcept;
  [[nodiscard]] bool batches(const Rule& rule) const noexcept;
  [[nodiscard]] static std::size_t count_plain(std::span<const Handle> frames,
                                               std::uint64_t targeted) noexcept;
  std::size_t admit_burst(std::span<const Handle> frames, Instant now,
                          std::span<Handle> dropped) noexcept;
  std::size_t admit_batch(Rule& rule, std::span<const Handle> batch, Instant now,
                          std::span<Handle> dropped) noexcept;
  bool admit_unopened(Rule& rule, Handle handle, Instant now, Amount& queued) noexcept;
  bool apply(Handle handle, const Arrival& arrival, const Decision& decision,
             LedgerRecord* record) noexcept;
  void queue(Handle handle, const Arrival& arrival, const Decision& decision, std::uint8_t copy,
             std::uint32_t ledger_slot) noexcept;
  bool admit_with_copies(Handle handle, const Arrival& arrival, const Decision& decision) noexcept;
  void admit_copy(Handle handle, const Arrival& arrival, const Decision& original,
                  std::uint8_t copy) noexcept;
  bool finalize(Handle handle, const Arrival& arrival, const Decision& decision,
                std::uint8_t copy) noexcept;
  bool refuse_unseen(ResourceDrop want, Disposition disposition, const roce::Envelope& envelope,
                     Instant now, LedgerRecord* record) noexcept;
  bool refuse(ResourceDrop want, Disposition disposition, const Arrival& arrival,
              const Decision& decision, std::uint8_t copy) noexcept;
  void count_want(ResourceDrop want, RuleIndex rule, std::uint32_t bytes) noexcept;
  void place_overtaking(const Entry& entry, const Decision& decision, Instant now) noexcept;
  void let_out(std::span<Entry> entries, Entry* next) noexcept;
  std::size_t let_out_singles(std::span<const Entry> entries, std::size_t begin) noexcept;
  static Transit cut_after(Transit& train, std::span<const Entry> frames) noexcept;
  Transit cut_before(Transit& train, std::size_t begin, std::size_t end) noexcept;
  std::size_t close_accounts(std::size_t first, std::size_t end, Instant now) noexcept;
  static std::uint32_t length_of(Handle handle) noexcept;
  static Transit single(const Transit& train, std::size_t i, Handle handle) noexcept;
  void part_trains() noexcept;
  template <class Give>
  void empty_egress(Give give) noexcept;
  void let_out_held(Instant now, std::size_t spare) noexcept;
  void find_deadline() noexcept;
  [[nodiscard]] Accounting outside_accounting() const;
  void log_lost(const Transit& transit, const roce::Envelope& envelope,
                Disposition disposition) noexcept;

  Pipeline pipeline_;
  Frames frames_;
  Queue queue_;
  std::vector<Held<Entry>> held_;  // a rule each; empty where no rule holds frames back
  std::size_t held_frames_ = 0;
  Instant next_deadline_ = Queue::kNever;
  Instant next_ask_ = Queue::kNever;
  Ring<Handle> egress_;
  Ring<Leaving> leaving_;  // the trains that they are
  Ledger ledger_;
  std::uint64_t received_ = 0;                 // the next ingress frame number
  Disposition refusal_ = Disposition::passed;  // why the last frame that found no place did not
  AccountCounters direction_;
  std::vector<AccountCounters> rules_;  // the last is the untouched frames'
  Counter fragments_, truncated_;
  Histogram delay_, release_error_, pass_latency_;
  std::size_t batches_ = 0;
  // A burst's, while it is admitted.
  std::array<Instant, Rule::kMostTogether> releases_;
  std::array<Entry, Rule::kMostTogether> entries_;
  std::array<Handle, StoresFrames<Frames, Handle> ? Rule::kMostTogether : 1> stored_;
};

}  // namespace lw::emulator

#include "emulator/link_admit.h"
#include "emulator/link_batch.h"
#include "emulator/link_impl.h"
#include "emulator/link_release.h"
#include "emulator/link_reports.h"

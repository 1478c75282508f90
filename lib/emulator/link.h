// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "core/counter.h"
#include "core/histogram.h"
#include "emulator/frame_access.h"
#include "emulator/ledger.h"
#include "emulator/pipeline.h"
#include "emulator/queue/release_queue.h"
#include "emulator/stats/accounting.h"
#include "roce/traffic_class.h"

namespace lw::emulator {

struct LinkConfig {
  std::size_t capacity = 65536;       // frames that may wait for their release
  std::size_t egress_capacity = 512;  // frames that may wait for the output
  bool log_all = false;               // log every frame in the ledger
  std::size_t most_rules = 512;  // rules of the first pipeline and of all that replace() brings
};

/// The least time by which a frame is late, and the part of its delay.
inline constexpr Duration kLateLeast = std::chrono::microseconds(200);
inline constexpr int kLatePart = 20;
/// True if a frame that left `by` after it was due was late, of `delay`.
constexpr bool is_late(Duration by, Duration delay) noexcept {
  return by > std::max(kLateLeast, delay / kLatePart);
}

/// One direction through the emulator: frames come in, a pipeline decides about them, a release
/// queue holds them, and they leave through a bounded egress buffer. Every frame is accounted for.
/// The link reads no clock and uses no device. The caller's frames are `Handle`s, which the link
/// changes and copies only through `Frames`.
///
///   admit() -> pipeline -> [rule's queue] -> pipeline -> [held back] -> [release queue] ->
///   release() -> [egress] -> sent()
///
/// A frame whose release is known although it waits in its rule's queue (Rule::knows_release())
/// goes to the release queue at once; its rule's queue keeps only its place.
///
/// One thread. Nothing is allocated after construction.
template <class Handle, FrameAccess<Handle> Frames = NoFrameAccess<Handle>>
class Link {
 public:
  Link(Pipeline pipeline, const LinkConfig& config, LedgerSink* sink = nullptr,
       Frames frames = Frames());

  /// Admits a frame that came in at `now`. Returns true if the link keeps the handle until egress()
  /// returns it; false if the frame is dropped and counted, and the caller keeps the handle.
  /// `record`, if given, gets the frame's record as for the ledger.
  [[nodiscard]] bool admit(Handle handle, const roce::Envelope& envelope, Instant now,
                           LedgerRecord* record = nullptr) noexcept;

  /// Counts a frame as dropped because it came in through a port whose link is down. The caller
  /// keeps the frame.
  void turn_away(const roce::Envelope& envelope, Instant now,
                 LedgerRecord* record = nullptr) noexcept;

  /// Admits frames that came in together. Stores the handles of dropped frames in `dropped`, which
  /// has room for all, and returns their number. Frames::bytes(handle) returns a frame's bytes,
  /// Frames::length(handle) its length on the wire, Frames::open(handle) its envelope. Frames that
  /// a header-independent rule decides about are not opened.
  [[nodiscard]] std::size_t admit(std::span<const Handle> frames, Instant now,
                                  std::span<Handle> dropped) noexcept;

  /// Counts a frame as dropped because the caller had no buffer for it. Always returns false.
  bool admit_without_buffer(const roce::Envelope& envelope, Instant now,
                            LedgerRecord* record = nullptr) noexcept {
    return refuse_unseen(ResourceDrop::no_buffer, Disposition::no_buffer, envelope, now, record);
  }

  /// Counts a pause frame for the queues of the other direction as consumed. The caller keeps the
  /// frame. Always returns false.
  bool consume(const roce::Envelope& envelope, Instant now,
               LedgerRecord* record = nullptr) noexcept;
  /// Applies a pause frame from the receiving side: see Rule::pause().
  void pause(const wire::PfcFields& asked, Instant now) noexcept;
  /// Returns the pauses that the queues now request from the sending side, each of one priority.
  /// Each queue requests its own, so the number of pauses does not depend on the bursts in which
  /// frames arrive. None ends a pause that another queue of its priority still requests. Valid
  /// until the next call.
  [[nodiscard]] std::span<const wire::PfcFields> asks_for(Instant now) noexcept;
  /// Sends a frame that the emulator made. Returns false if the egress buffer is full; that is
  /// counted, and the caller keeps the frame.
  [[nodiscard]] bool create(Handle handle, std::uint32_t bytes, Instant now) noexcept;

  /// Moves frames that are due at `now` to the egress buffer, but leaves room for `spare` frames:
  /// the burst that was received because there was room for it, and is admitted next. Queues and
  /// groups go on until `horizon` only, before which no later frame arrives.
  void release(Instant now, std::size_t spare, Instant horizon) noexcept;
  void release(Instant now, std::size_t spare = 0) noexcept { release(now, spare, now); }

  /// The argument of replace(). The caller prepares it outside the data path, because it allocates.
  struct PreparedPipeline {
    explicit PreparedPipeline(Pipeline next);
    Pipeline pipeline;
    std::vector<Held<QueueEntry<Handle, Frames>>> held;
    std::vector<Ring<QueueEntry<Handle, Frames>>> waiting;
  };
  /// Replaces the pipeline from `now` on. The new rules were given the names that the present
  /// pipeline knows. Frames that have left their rule's queue keep their release times. Frames in
  /// the queue of a rule that still has one stay there; those of a queue that is removed leave as
  /// they would have. Frames stay in order where the rules require it. Afterwards `next` holds the
  /// old pipeline.
  void replace(PreparedPipeline& next, Instant now) noexcept;
  /// Memory for more frames inside. The caller prepares it outside the data path.
  struct Room {
    ReleaseQueue<Handle, Frames> queue;
    Ledger::Room ledger;
  };
  /// Memory for `capacity` frames that wait. Any thread.
  [[nodiscard]] Room room_for(std::size_t capacity) const;
  /// Uses `room` from now on, which is for more frames than fit now. Takes some 20 ns a frame that
  /// waits. Afterwards `room` holds the former memory.
  void grow(Room& room, Frames frames, Instant now) noexcept;
  /// Largest number of rule names of this link.
  [[nodiscard]] std::size_t most_rules() const noexcept { return rules_.size() - 1; }

  /// The frames to send now, in order; not necessarily all, because a ring has an end.
  [[nodiscard]] std::span<Handle> egress() noexcept { return egress_.contiguous(); }
  /// Call when the first `count` frames of egress() were sent at `now`.
  void sent(std::size_t count, Instant now) noexcept;

  /// Calls visit(i, transit, number) for the first `count` frames of egress(), with the ingress
  /// frame number of each. The bytes of a transit are those of all frames that were admitted with
  /// it.
  template <class Visit>
  void for_each_leaving(std::size_t count, Visit visit) const noexcept {
    for (std::size_t train = 0, i = 0; i < count; ++train) {
      Transit frame = leaving_[train].transit;
      const std::size_t end = std::min(count, i + frame.frames());
      frame.set_frames(1);
      for (; i < end; ++i, frame.skip(1)) visit(i, frame, number_of(frame));
    }
  }
  /// Call while the output link is down: returns every frame of egress() to the caller through
  /// `drop(handle)`, and counts and logs it as dropped. `view(handle)` returns its envelope.
  template <class View, class Drop>
  void lose_egress(View view, Drop drop) noexcept;

  /// Call at the end of a run: returns every frame inside to the caller through `drop(handle)`, and
  /// counts and logs it as stopped. `view(handle)` returns its envelope.
  template <class View, class Drop>
  void abandon(View view, Drop drop) noexcept;

  /// Passes the records gathered since the last call to the sink. Call it once per burst.
  void flush_ledger() noexcept { ledger_.flush(); }

  [[nodiscard]] std::size_t egress_size() const noexcept { return egress_.size(); }
  [[nodiscard]] std::size_t egress_room() const noexcept { return egress_.room(); }
  [[nodiscard]] std::size_t queue_room() const noexcept {
    return queue_.capacity() - queue_.size() - held_frames_ - waiting_frames_;
  }
  /// Time at which the next waiting frame is due, or departs from its rule's queue;
  /// ReleaseQueue::kNever if none waits.
  [[nodiscard]] Instant next_release() const noexcept {
    return std::min({queue_.next(), next_deadline_, next_departure_});
  }
  /// Prefetches the frame that is due next, because some devices read a frame to send it. A hint
  /// that there is time for it.
  void fetch_next() const noexcept { queue_.fetch_next(); }
  /// Time of the next call of asks_for() that may return a pause; kNever if no queue requests one.
  [[nodiscard]] Instant next_ask() const noexcept { return next_ask_; }
  [[nodiscard]] std::size_t inside() const noexcept {
    return queue_.size() + held_frames_ + waiting_frames_ + egress_.size();
  }

  /// Returns the accounting as of now. Walks over all frames inside: for reports.
  [[nodiscard]] Accounting accounting() const;
  /// Returns the accounting without the walk: frames in flight are computed from the other
  /// counters.
  [[nodiscard]] Accounting running_accounting() const;
  /// The direction's totals, without the walk: for progress lines.
  [[nodiscard]] const AccountCounters& counters() const noexcept { return direction_; }
  /// Actual minus scheduled release time of frames that waited, in ns.
  [[nodiscard]] const Histogram& release_error() const noexcept { return release_error_; }
  /// Requested delay of frames that waited, in ns: scheduled release minus arrival. Includes
  /// copies. For a batch, one frame is recorded for all: recording each frame costs 16 % of the
  /// speed with independent jitter.
  [[nodiscard]] const Histogram& delay() const noexcept { return delay_; }
  /// Time inside of frames that no rule delays, in ns.
  [[nodiscard]] const Histogram& pass_latency() const noexcept { return pass_latency_; }
  /// Frames that were sent later than is_late() permits.
  [[nodiscard]] std::uint64_t late() const noexcept { return late_.get(); }
  [[nodiscard]] const Pipeline& pipeline() const noexcept { return pipeline_; }

 private:
  using Queue = ReleaseQueue<Handle, Frames>;
  using Entry = QueueEntry<Handle, Frames>;
  /// A train in the egress buffer.
  struct Leaving {
    Transit transit;
    Instant due;
  };

  static constexpr std::size_t kCountedTogether = 64;

  void count_late(const Leaving& train, Instant now) noexcept {
    if (is_late(now - train.due, train.due - train.transit.in())) late_.add(train.transit.frames());
  }

  AccountCounters& counters_of(RuleIndex rule) noexcept {
    return rules_[rule == kUntouched ? rules_.size() - 1 : rule];
  }
  /// Returns an empty store of held-back frames for each rule of the pipeline.
  static std::vector<Held<Entry>> held_of(const Pipeline& pipeline);
  /// Returns room for the frames in each rule's queue.
  static std::vector<Ring<Entry>> waiting_of(const Pipeline& pipeline);
  void depart(Instant now) noexcept {
    if (next_departure_ <= now) [[unlikely]]
      depart_due(now);
  }
  void depart_due(Instant now) noexcept;
  void depart_from(RulesQueue& queue, Instant now) noexcept;
  void depart_with(const RulesQueue::Frames::SentFrame& sent, Instant now) noexcept;
  void depart_ahead(RulesQueue& queue, const Pipeline& next, Instant now) noexcept;
  void release_on_arrival(Decision& decision) noexcept;
  void take_back(Rule& rule) noexcept;
  void find_departure() noexcept;
  [[nodiscard]] std::uint64_t number_of(const Transit& transit) const noexcept;
  void receive(const Decision& decision, const IngressFrame& arrival) noexcept;
  [[nodiscard]] std::span<const Handle> stored(std::span<const Handle> frames,
                                               Duration wait) noexcept;
  [[nodiscard]] Handle stored(Handle handle, const IngressFrame& arrival, const Decision& decision,
                              std::uint8_t copy) noexcept;
  bool queue_together(Rule& rule, std::span<const Handle> frames, Instant now) noexcept;
  bool enter_batch(Rule& rule, std::span<const Handle> frames, Instant now) noexcept;
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
  bool apply(Handle handle, const IngressFrame& arrival, const Decision& decision,
             LedgerRecord* record) noexcept;
  void enter(Handle handle, const IngressFrame& arrival, const Decision& decision,
             std::uint8_t copy, std::uint32_t ledger_slot) noexcept;
  bool admit_with_copies(Handle handle, const IngressFrame& arrival,
                         const Decision& decision) noexcept;
  void admit_copy(Handle handle, const IngressFrame& arrival, const Decision& original,
                  std::uint8_t copy) noexcept;
  bool finalize(Handle handle, const IngressFrame& arrival, const Decision& decision,
                std::uint8_t copy) noexcept;
  bool refuse_unseen(ResourceDrop want, Disposition disposition, const roce::Envelope& envelope,
                     Instant now, LedgerRecord* record) noexcept;
  bool refuse(ResourceDrop want, Disposition disposition, const IngressFrame& arrival,
              const Decision& decision, std::uint8_t copy) noexcept;
  void count_want(ResourceDrop want, RuleIndex rule, std::uint32_t bytes) noexcept;
  void place_overtaking(const Entry& entry, const Decision& decision, Instant now) noexcept;
  void let_out(std::span<Entry> entries, Entry* next) noexcept;
  std::size_t let_out_singles(std::span<const Entry> entries, std::size_t begin) noexcept;
  static Transit cut_after(Transit& train, std::span<const Entry> frames) noexcept;
  Transit cut_before(Transit& train, std::size_t begin, std::size_t end) noexcept;
  std::size_t close_accounts(std::size_t first, std::size_t end, std::size_t frame,
                             Instant now) noexcept;
  static std::uint32_t length_of(Handle handle) noexcept;
  static Transit single(const Transit& train, std::size_t i, Handle handle) noexcept;
  void part_trains() noexcept;
  template <class Give>
  void empty_egress(Give give) noexcept;
  void gather(Held<Entry>& held, const Entry& entry, RuleIndex rule, Instant now) noexcept;
  void close_group(Held<Entry>& held, Instant at, RuleIndex rule, Instant now) noexcept;
  void close_due_groups(Instant now) noexcept;
  void let_out_held(Instant now, std::size_t spare) noexcept;
  void share_counters() noexcept;
  [[nodiscard]] std::uint64_t& inside_of(RuleIndex rule) noexcept {
    return inside_[rule == kUntouched ? inside_.size() - 1 : rule];
  }
  void count_inside() noexcept;
  void move_out(std::span<Entry> entries, Entry* next) noexcept;
  void find_deadline() noexcept;
  [[nodiscard]] Accounting outside_accounting() const;
  void log_sent(std::size_t first, std::size_t end, std::size_t frame, Instant now) noexcept;
  void log_lost(const Transit& transit, const roce::Envelope& envelope,
                Disposition disposition) noexcept;
  void note_leaving(std::size_t count) noexcept;

  Pipeline pipeline_;
  Frames frames_;
  Queue queue_;
  std::vector<Held<Entry>> held_;  // by rule; empty if no rule holds frames
  std::size_t held_frames_ = 0;
  // By rule: frames in its queue whose release is decided when they leave it; `due` is not used.
  std::vector<Ring<Entry>> waiting_;
  std::size_t waiting_frames_ = 0;
  Instant next_departure_ = Queue::kNever;
  Instant next_deadline_ = Queue::kNever;
  Instant next_ask_ = Queue::kNever;
  std::vector<wire::PfcFields> pauses_;  // of the last asks_for()
  Ring<Handle> egress_;
  Ring<Leaving> leaving_;  // the trains of egress_
  // With a ledger: the BTH of each frame in the storage of egress_, once frames are logged late.
  std::vector<LoggedBth> leaving_bth_;
  bool logs_late_ = false;
  Ledger ledger_;
  std::uint64_t received_ = 0;                 // the next ingress frame number
  Disposition refusal_ = Disposition::passed;  // why the last dropped frame was dropped
  AccountCounters direction_;
  std::vector<AccountCounters> rules_;  // the last element is for unmatched frames
  bool limits_ = false;                 // a rule limits the frames inside; only then:
  std::vector<std::uint64_t> inside_;   // by rule, as rules_: frames that wait or are delayed
  Counter fragments_, truncated_;
  Histogram delay_, release_error_, pass_latency_;
  Counter late_;
  std::size_t batches_ = 0;
  // Release times of the batch that is being admitted.
  std::array<Instant, Rule::kMostTogether> releases_;
  std::array<Entry, Rule::kMostTogether> entries_;
  std::array<Handle, StoresFrames<Frames, Handle> ? Rule::kMostTogether : 1> stored_;
};

}  // namespace lw::emulator

#include "emulator/link_admit.h"
#include "emulator/link_batch.h"
#include "emulator/link_depart.h"
#include "emulator/link_impl.h"
#include "emulator/link_release.h"
#include "emulator/link_reports.h"

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/handoff.h"
#include "impair/datapath/more_room.h"
#include "impair/datapath/port_io.h"
#include "impair/datapath/ports.h"
#include "impair/record/change_log.h"
#include "nic/idle.h"

namespace lw::impair {

/// Drives a PortForwarder in real time: both directions on the calling thread, or, with two cores,
/// the direction from east to west on its own thread. Other threads change and observe the
/// forwarder through it.
class ForwardingLoop {
 public:
  using Configuration = PortForwarder::Configuration;
  /// Recorders by direction; null: nothing is recorded.
  using Recorders = std::array<Recorder*, 2>;
  /// A step of a scenario, prepared in advance.
  struct Change {
    std::unique_ptr<Configuration> configuration;  // null: unchanged
    std::optional<config::LinkChange> links;
    Effect effect{};  // set when it took effect
  };
  /// Called by work() after each idle round and at least every 64 rounds, with the current time.
  using Observer = std::function<void(Instant now, const PortForwarder&)>;

  /// `ports` and `ledger` (may be null) must outlive the loop.
  ForwardingLoop(const config::ImpairProfile& profile, Ports& ports, emulator::LedgerSink* ledger);

  /// Call before work(): sets the recorders, as record() does.
  void record_from_start(const Recorders& recorders) noexcept { attach(recorders); }

  /// Forwards until `stop` is true, end() was called, or a limit of `config` is reached: its
  /// duration, its time without input, or the end of all files.
  void work(const RunConfig& config, const std::atomic<bool>& stop, const Observer& observe = {});
  /// Answers the requests of other threads. work() and drain() do so too; call it while the thread
  /// that will call work() waits for something else.
  void serve_other_threads();
  /// Stops receiving, and sends the frames inside. If frames are still inside when the longest stay
  /// and 2 s have passed, or when `forced()` returns true, they are dropped and counted. Then calls
  /// close().
  void drain(const std::function<bool()>& forced);
  /// Makes present and later requests of other threads fail at once. Call it when nobody serves
  /// them any more.
  void close() noexcept;

  struct Statistics {
    double seconds = 0;
    std::vector<DirectionReport> directions;
    Duration held_up{};  // time for which forwarding stopped to gather them
    Stalls stalls{};     // of all threads that forward
  };
  /// Call before work() or after drain(); of a running loop, only what any thread may ask.
  [[nodiscard]] const PortForwarder& forwarder() const noexcept { return forwarder_; }
  /// Call after drain(): returns the audited statistics of the whole run.
  [[nodiscard]] Statistics statistics() const;
  /// Gets the audited statistics so far, for any thread but that of work() and drain(); threads
  /// wait for each other. Returns false if the loop has ended: after close(), or without an answer
  /// for 5 s.
  [[nodiscard]] bool snapshot(Statistics& statistics);
  /// Swaps `next` and the configuration in force. One other thread at a time. Returns nothing if
  /// the loop has ended: see snapshot().
  [[nodiscard]] std::optional<Effect> apply(Configuration& next);
  /// Uses `room` from now on; its arenas must then live as long as the loop. Threads: see apply();
  /// result: see snapshot().
  [[nodiscard]] bool grow(MoreRoom& room);
  /// Sets the links of ports up or down: see Forwarder::set_links(). Threads and result: see
  /// apply().
  [[nodiscard]] std::optional<Effect> set_links(config::LinkChange change);
  /// Replaces the recorders by these, from now on. Threads: see apply(); result: see snapshot().
  [[nodiscard]] bool record(Recorders recorders);
  /// Frames of a direction that were lost for lack of a resource so far. Any thread.
  [[nodiscard]] std::uint64_t lost_here(emulator::Direction direction) const noexcept;
  /// Makes work() return. Any thread.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }
  /// Mailbox for changes that take effect at a due time.
  [[nodiscard]] Mailbox<Change>& changes() noexcept { return changes_; }
  /// Time 0 of the scenario: arrival of the first frame. Nothing if no frame has arrived. Any
  /// thread.
  [[nodiscard]] std::optional<Instant> zero() const noexcept {
    const Instant zero{Duration{zero_.load(std::memory_order_relaxed)}};
    return zero == kNever ? std::nullopt : std::optional(zero);
  }
  /// Largest number of rule names that a direction can have in one run.
  [[nodiscard]] std::size_t most_rules() const noexcept {
    return forwarder_.link(emulator::Direction::west_to_east).most_rules();
  }

 private:
  static constexpr Instant kNever = Instant::max();
  struct Swap {
    Configuration* next;
    Effect effect{};
  };
  struct LinkSwitch {
    config::LinkChange change;
    Effect effect{};
  };

  bool poll(bool receiving) noexcept;
  void find_zero() noexcept;
  void make_due_changes(Instant now) noexcept;
  void apply_due(Change& change) noexcept;
  [[nodiscard]] Effect effect_now() const noexcept;
  void swap(Configuration& next) noexcept;
  void attach(const Recorders& recorders) noexcept;
  void rest(nic::Idle& idle) noexcept;
  void work_on_this_core(const RunConfig& config, const std::atomic<bool>& stop,
                         const Observer& observe);
  void work_westward(const RunConfig& config, const std::stop_token& stop);
  [[nodiscard]] bool is_over(Instant now, const RunConfig& config) const noexcept;
  [[nodiscard]] static double seconds_between(Instant begin, Instant end) noexcept {
    return static_cast<double>((end - begin).count()) * 1e-9;
  }

  [[nodiscard]] Stalls all_stalls() const noexcept;

  PortForwarder forwarder_;
  Duration longest_stay_;
  Instant start_ = nic::now();
  Instant end_ = start_;
  bool on_two_cores_ = false;
  StallWatch stalls_, westward_stalls_;  // westward: of the second core
  Quiesce westward_quiesce_;             // stops the thread of the direction from east to west
  Mailbox<Swap> configurations_;
  std::mutex asking_;  // held by the thread that waits for a snapshot
  Mailbox<Statistics> snapshots_;
  Mailbox<LinkSwitch> links_;
  Mailbox<MoreRoom> rooms_;
  Mailbox<const Recorders> recorders_;
  Mailbox<Change> changes_;
  std::atomic<bool> ended_{false};
  std::atomic<Duration::rep> zero_{kNever.time_since_epoch().count()};
};

}  // namespace lw::impair

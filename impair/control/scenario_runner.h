// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "impair/control/live_profile.h"
#include "impair/control/preparing_thread.h"
#include "impair/control/schedule.h"
#include "impair/datapath/forwarding_loop.h"
#include "impair/record/change_log.h"
#include "impair/report/report.h"

namespace lw::impair {

/// Observed state of a port's link. A link that the scenario set down is not a loss.
struct WatchedLink {
  config::LinkChange side;  // side of the port
  nic::Port* port = nullptr;
  bool planned_down = false;  // set down by the scenario
  bool up = true;
  Instant lost_at{};
  LinkLosses losses = {};
};

/// Holds the profile of a run, applies changes, and carries out the scenario. Any thread may call
/// it while the loop works.
///
/// Its thread prepares each step before it is due, a PreparingThread what clients ask for; both
/// without the lock. A step that is due takes effect before a change. If a step takes effect while
/// a change is prepared, the change is prepared again.
class ScenarioRunner {
 public:
  /// Called with all rule names before the first frame of a new rule.
  using Learn = std::function<void(const RuleNames&)>;
  /// Adds the ledger and recordings so far to a report.
  using AddRecords = std::function<void(Report&)>;
  /// `loop` and `ports` must outlive the runner. `log`: without changes.
  ScenarioRunner(const LiveProfile::Version& profile, ForwardingLoop& loop, Ports& ports,
                 Learn learn, AddRecords add_records, ChangeLog log);
  ~ScenarioRunner();

  /// Applies edits on request of `by`, a client, as the change log names it. After an error of this
  /// and the following functions nothing has changed. Error also (failed): the preparation takes
  /// longer than kLongestPreparation.
  Result<void> set(std::span<const config::Edit> edits, const std::string& by);
  /// Returns the profile that set() would put in force. Changes nothing.
  [[nodiscard]] Result<config::ImpairProfile> preview(std::span<const config::Edit> edits);
  /// Replaces the profile by another file. Its scenario begins at `begin`, or now if that is past.
  Result<void> load(const config::FileName& file, const std::string& by, Instant begin = {});
  /// Removes the edits on request since the profile was loaded.
  Result<void> reset(const std::string& by);
  /// Undoes the last set, load or reset that is not undone yet, of the last kMostUndo. If a load is
  /// undone, the scenario of the previous profile does not continue. Error: nothing is left to
  /// undo.
  Result<void> undo(const std::string& by);
  static constexpr std::size_t kMostUndo = 32;
  /// Schedules the steps of a command that begins at `begin`, or now if that is past. Error also:
  /// too many steps wait.
  Result<void> command(const config::ControlCommand& command, const std::string& by,
                       Instant begin = {});
  /// Ends changes that are being prepared: they change nothing. For the end of a run.
  void refuse_changes() { preparing_.close(); }

  /// The profile in force.
  [[nodiscard]] config::ImpairProfile profile() const;
  /// Returns a report of the run so far.
  [[nodiscard]] Report snapshot();
  /// Starts to watch the links. Call it when both are up. `on_loss`: the action on a loss.
  void watch_links(config::OnLinkLoss on_loss);
  /// Stops watching. Returns the losses of the west port and the east port.
  std::array<LinkLosses, 2> end_watching();
  /// Returns the losses so far, of the west port and the east port.
  [[nodiscard]] std::array<LinkLosses, 2> link_losses() const;
  /// When the box lost frames itself, by samples once a second.
  [[nodiscard]] OwnLossTimes loss_times();
  /// Returns the results of scenario and commands by `end`; nothing if there were none.
  [[nodiscard]] std::optional<ScenarioReport> scenario(Instant end) const;
  /// The changes so far, and the audits of what they ended.
  [[nodiscard]] std::pair<ChangeLog, EndedAudits> changes() const;

 private:
  struct Pending {
    ForwardingLoop::Change change;
    std::optional<LiveProfile::Version> next;  // the profile with this change
    RuleNames names;
  };
  /// State of the run from which a change is prepared.
  struct Base {
    LiveProfile live;
    RuleNames names;
    std::optional<LiveProfile::Point> undo;  // for the next undo
    std::uint64_t changes = 0;
  };
  /// A prepared change.
  struct Prepared {
    LiveProfile::Version version;
    std::unique_ptr<ForwardingLoop::Configuration> configuration;
  };
  using Lock = std::unique_lock<std::mutex>;
  using Make = std::function<Result<LiveProfile::Version>(const Base&, const std::stop_token&)>;
  /// Called under the lock once a change is in force: the state before, and the version's scenario.
  using Kept = std::function<void(LiveProfile::Point before, std::vector<config::ScenarioStep>)>;
  /// What of a run's state a change is made from.
  enum class From : std::uint8_t { version, names };

  void work(const std::stop_token& stop);
  Duration look_at_schedule(Lock& lock);
  void lend_next(Lock& lock);
  static Result<std::unique_ptr<Pending>> prepare_step(const config::ScenarioStep& step,
                                                       const Base& base);
  bool link_is_back(const Schedule::Item& item);
  void settle_step(Lock& lock);
  void withdraw_pending();
  void finish();
  void give_up(const Error& error);
  [[nodiscard]] Base base() const;
  template <class T, class Use>
  Result<void> prepare(From from,
                       std::function<Result<T>(const Base&, const std::stop_token&)> make, Use use);
  Result<void> change(From from, Make make, const std::string& by, const Kept& kept);
  void keep(LiveProfile::Version version, const ForwardingLoop::Configuration& replaced,
            const Effect& effect, const std::string& by);
  void note_links(const config::LinkChange& change, const Effect& effect, const std::string& by);
  void remember(LiveProfile::Point before);
  Result<Effect> apply(ForwardingLoop::Configuration& configuration);
  void begin_scenario(std::span<const config::ScenarioStep> steps, const std::string& by,
                      Instant begin);
  [[nodiscard]] std::optional<ScenarioReport> results(Instant by) const;
  void set_links(const config::LinkChange& change);
  void plan_links(const config::LinkChange& change);
  void look_at_links();
  void look_at_losses();
  void look_at_link(WatchedLink& link);
  void lose_link(WatchedLink& link, nic::Port::LinkState state);

  mutable std::mutex mutex_;  // guards all members below
  ForwardingLoop* loop_;
  Ports* ports_;
  Learn learn_;
  AddRecords add_records_;
  LiveProfile live_;
  std::deque<LiveProfile::Point> undo_;  // state before each change on request
  RuleNames names_;
  Schedule schedule_;
  std::uint64_t changes_ = 0;  // of the version in force
  ChangeLog log_;
  EndedAudits ended_;
  std::unique_ptr<Pending> pending_;
  bool preparing_step_ = false;  // the thread prepares a step, without the lock
  std::condition_variable step_prepared_;
  std::optional<Instant> zero_;           // time 0, as known when `pending_` was lent
  std::optional<Instant> links_back_by_;  // end of the wait for a link that was set up
  ScenarioReport report_;
  std::array<WatchedLink, 2> links_;
  std::optional<config::OnLinkLoss> on_loss_;  // nothing: links are not watched
  Instant next_look_{};                        // time of the next look at the links
  OwnLossTimes loss_times_;
  Instant watched_since_{}, next_sample_{};
  PreparingThread preparing_;
  std::jthread thread_;
};

}  // namespace lw::impair

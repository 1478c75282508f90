// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "impair/control/live_profile.h"
#include "impair/control/schedule.h"
#include "impair/datapath/forwarding_loop.h"
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

/// Holds the profile of a run, applies changes, and carries out the scenario. Its thread prepares
/// each step before it is due. Any thread may call it while the loop works.
class ScenarioRunner {
 public:
  /// Called with all rule names before the first frame of a new rule.
  using Learn = std::function<void(const RuleNames&)>;
  /// Adds the ledger and recordings so far to a report.
  using AddRecords = std::function<void(Report&)>;
  /// `loop` and `ports` must outlive the runner.
  ScenarioRunner(const LiveProfile::Version& profile, ForwardingLoop& loop, Ports& ports,
                 Learn learn, AddRecords add_records);
  ~ScenarioRunner();

  /// Applies edits on request. After an error of set(), load(), reset() or undo() nothing has
  /// changed.
  Result<void> set(std::span<const config::Edit> edits);
  /// Returns the profile that set() would put in force. Changes nothing.
  [[nodiscard]] Result<config::ImpairProfile> preview(std::span<const config::Edit> edits) const;
  /// Replaces the profile by another file. Its scenario begins now.
  Result<void> load(const std::string& file);
  /// Removes the edits on request since the profile was loaded.
  Result<void> reset();
  /// Undoes the last set, load or reset that is not undone yet, of the last kMostUndo. If a load is
  /// undone, the scenario of the previous profile does not continue. Error: nothing is left to
  /// undo.
  Result<void> undo();
  static constexpr std::size_t kMostUndo = 32;
  /// Schedules the steps of a command that begins now.
  Result<void> command(const config::Command& command);

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
  /// Returns the results of scenario and commands; nothing if there were none.
  [[nodiscard]] std::optional<ScenarioReport> scenario() const;

 private:
  struct Pending {
    ForwardingLoop::Change change;
    std::optional<LiveProfile::Version> next;  // the profile with this change
    RuleNames names;
  };

  void work(const std::stop_token& stop);
  Duration look();
  bool prepare();
  bool link_is_back(const Schedule::Item& item);
  void withdraw_pending();
  void finish();
  void give_up(const Error& error);
  Result<void> change(Result<LiveProfile::Version> next);
  void remember();
  Result<void> apply(ForwardingLoop::Configuration& configuration);
  void begin_scenario(std::span<const config::ScenarioStep> steps);
  void set_links(const config::LinkChange& change);
  void plan_links(const config::LinkChange& change);
  void look_at_links();
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
  std::unique_ptr<Pending> pending_;
  std::optional<Instant> zero_;           // time 0, as known when `pending_` was lent
  std::optional<Instant> links_back_by_;  // end of the wait for a link that was set up
  ScenarioReport report_;
  std::array<WatchedLink, 2> links_;
  std::optional<config::OnLinkLoss> on_loss_;  // nothing: links are not watched
  Instant next_look_{};                        // time of the next look at the links
  std::jthread thread_;
};

}  // namespace lw::impair

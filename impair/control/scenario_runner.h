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

/// Watches the link of a port. A scenario that set it down is no loss.
struct WatchedLink {
  config::LinkChange side;  // of the port
  nic::Port* port = nullptr;
  bool planned_down = false;  // by the scenario
  bool up = true;
  Instant lost_at{};
  LinkLosses losses = {};
};

/// Holds the profile of a run, applies changes to it, and carries out its scenario on a thread that
/// prepares each step before it is due. Any thread may call it while the loop works.
class ScenarioRunner {
 public:
  /// Called with all rule names before the first frame of a new rule. `loop` and `ports` must
  /// outlive the runner.
  using Learn = std::function<void(const RuleNames&)>;
  /// Adds what was recorded so far to a report.
  using AddRecords = std::function<void(Report&)>;
  ScenarioRunner(const LiveProfile::Version& profile, ForwardingLoop& loop, Ports& ports,
                 Learn learn, AddRecords add_records);
  ~ScenarioRunner();

  /// Changes on request. After an error nothing has changed.
  Result<void> set(std::span<const config::Edit> edits);
  /// What set() would put in force; nothing changes.
  [[nodiscard]] Result<config::ImpairProfile> preview(std::span<const config::Edit> edits) const;
  Result<void> load(const std::string& file);
  Result<void> reset();
  /// Takes back the last set, load or reset that is not undone yet, of the last kMostUndo. After a
  /// load, the scenario of the profile before doesn't go on. Error: there is none.
  Result<void> undo();
  static constexpr std::size_t kMostUndo = 32;
  /// Schedules the steps of a command from now on.
  Result<void> command(const config::Command& command);

  /// The profile in force.
  [[nodiscard]] config::ImpairProfile profile() const;
  /// A report of the run so far.
  [[nodiscard]] Report snapshot();
  /// Both links are up: from now on a loss is handled.
  void watch_links(config::OnLinkLoss on_loss);
  /// Watches no longer. Returns the losses of the west port and the east port.
  std::array<LinkLosses, 2> end_watching();
  /// The losses so far.
  [[nodiscard]] std::array<LinkLosses, 2> link_losses() const;
  /// How scenario and commands were carried out; nothing when there were none.
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
  std::deque<LiveProfile::Point> undo_;  // what was in force before each change on request
  RuleNames names_;
  Schedule schedule_;
  std::unique_ptr<Pending> pending_;
  std::optional<Instant> zero_;           // time 0, as known when `pending_` was lent
  std::optional<Instant> links_back_by_;  // when to stop waiting for a link that was set up
  ScenarioReport report_;
  std::array<WatchedLink, 2> links_;
  std::optional<config::OnLinkLoss> on_loss_;  // nothing: links are not watched
  Instant next_look_{};                        // at the links
  std::jthread thread_;
};

}  // namespace lw::impair

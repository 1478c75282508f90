// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "impair/control/agenda.h"
#include "impair/control/live_profile.h"
#include "impair/datapath/bump.h"
#include "impair/record/ledger_file.h"

namespace lw::impair {

/// Keeps a run's profile: puts changes in force that are asked for, and carries the scenario out,
/// on a thread of its own that has each step ready before it is due. Everything here may be called
/// from any thread, for as long as the bump works.
class Director {
 public:
  /// `learn` is told the names of rules before their first frame. Bump and equipment must outlive
  /// it.
  using Learn = std::function<void(const RuleNames&)>;
  Director(const LiveProfile::Version& profile, Bump& bump, Equipment& equipment, Learn learn);
  ~Director();

  /// Changes that are asked for; whatever is wrong changes nothing.
  Result<void> set(std::span<const config::Edit> edits);
  Result<void> load(const std::string& file);
  Result<void> reset();
  /// From now on.
  Result<void> command(const config::Command& command);

  /// What is in force.
  [[nodiscard]] config::ImpairProfile profile() const;
  /// The run so far.
  [[nodiscard]] Report snapshot();
  /// How the scenario and the commands fared; nothing where there were none.
  [[nodiscard]] std::optional<ScenarioReport> scenario() const;

 private:
  struct Pending {
    TimedChange change;
    std::optional<LiveProfile::Version> next;  // in force with it
    RuleNames names;
  };

  void work(const std::stop_token& stop);
  Duration look();
  bool prepare();
  bool link_is_back(const Agenda::Item& item);
  void settle();
  void finish();
  void give_up(const Error& error);
  Result<void> change(Result<LiveProfile::Version> next);
  Result<void> apply(const config::ImpairProfile& next);
  void set_links(const config::LinkChange& change);

  mutable std::mutex mutex_;  // guards all that follows
  Bump* bump_;
  Equipment* equipment_;
  Learn learn_;
  LiveProfile live_;
  RuleNames names_;
  Agenda agenda_;
  std::unique_ptr<Pending> pending_;
  std::optional<Instant> zero_;           // as it was known when `pending_` was lent
  std::optional<Instant> links_back_by_;  // how long to wait for a link that was set up
  ScenarioReport report_;
  std::jthread thread_;
};

}  // namespace lw::impair

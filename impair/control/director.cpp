// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/director.h"

#include <algorithm>

#include <fmt/core.h>

#include "impair/report/port_report.h"

namespace lw::impair {
namespace {

// How often the agenda is looked at: with nothing to do, and with a step about to be taken.
constexpr Duration kQuietLook = std::chrono::milliseconds(5);
constexpr Duration kBusyLook = std::chrono::microseconds(200);
// What optics and autonegotiation may take; frames are let through then in any case.
constexpr Duration kLinkPatience = std::chrono::seconds(5);

const config::ScenarioStep kAllLinksUp[] = {
    {.at = {},
     .act = "load",
     .place = {},
     .links = config::LinkChange{.west = true, .east = true, .up = true}}};

}  // namespace

Director::Director(const LiveProfile::Version& profile, Bump& bump, Equipment& equipment,
                   Learn learn)
    : bump_(&bump),
      equipment_(&equipment),
      learn_(std::move(learn)),
      live_(profile),
      names_(Configuration(profile.profile, {}).names()) {
  agenda_.begin(profile.profile.scenario);
  report_.all = profile.profile.scenario.size();
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Director::~Director() {
  thread_.request_stop();
  thread_.join();
  // The loop may work on; what is lent to it is taken back.
  if (pending_) static_cast<void>(bump_->changes().withdraw());
}

void Director::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Duration pause{};
    {
      const std::lock_guard lock(mutex_);
      pause = look();
    }
    std::this_thread::sleep_for(pause);
  }
}

Duration Director::look() {
  if (pending_ && bump_->changes().done()) finish();
  // With time 0 known a command may not be the first any more.
  if (pending_ && !zero_ && bump_->zero()) settle();
  if (!pending_) {
    zero_ = bump_->zero();
    while (!pending_ && agenda_.next(zero_))
      if (!prepare()) break;
  }
  return pending_ || agenda_.next(zero_) ? kBusyLook : kQuietLook;
}

/// Makes the next step and lends it to the loop. False: it isn't time to yet.
bool Director::prepare() {
  const Agenda::Item& item = *agenda_.next(zero_);
  if (item.step.links && item.step.links->up && !link_is_back(item)) return false;
  auto pending = std::make_unique<Pending>();
  pending->change.links = item.step.links;
  pending->names = names_;
  if (!item.step.edits.empty()) {
    auto next = live_.stepped(item.step);
    if (!next) {
      give_up(next.error());
      return true;
    }
    pending->change.configuration = std::make_unique<Configuration>(next->profile, names_);
    pending->names = pending->change.configuration->names();
    pending->next = std::move(*next);
    learn_(pending->names);
  }
  pending_ = std::move(pending);
  bump_->changes().lend_until_due(pending_->change, item.step.at, item.since_zero);
  return true;
}

/// A device comes up first, then frames are let through. False: not yet.
bool Director::link_is_back(const Agenda::Item& item) {
  const auto due = item.due(zero_);
  if (!due || nic::now() < *due) return false;
  if (!links_back_by_) {
    set_links(*item.step.links);
    links_back_by_ = nic::now() + kLinkPatience;
  }
  const bool up = (!item.step.links->west || equipment_->west.link_up()) &&
                  (!item.step.links->east || equipment_->east.link_up());
  if (!up && nic::now() < *links_back_by_) return false;
  links_back_by_.reset();
  return true;
}

void Director::set_links(const config::LinkChange& change) {
  if (change.west) equipment_->west.set_link(change.up);
  if (change.east) equipment_->east.set_link(change.up);
}

/// Takes back what is lent, unless it has been used by now.
void Director::settle() {
  if (!pending_) return;
  if (!bump_->changes().withdraw()) return finish();
  pending_.reset();
}

void Director::finish() {
  const Agenda::Item& item = *agenda_.next(zero_);
  // Time 0 may have come with the step's own burst.
  const auto due = item.due(zero_ ? zero_ : bump_->zero());
  ++report_.done;
  if (due) report_.latest = std::max(report_.latest, pending_->change.done - *due);
  if (pending_->change.links && !pending_->change.links->up) set_links(*pending_->change.links);
  if (pending_->next) live_.keep(std::move(*pending_->next));
  names_ = std::move(pending_->names);
  agenda_.pop(zero_);
  pending_.reset();
}

/// What passed before the start doesn't pass now: a file that it names has changed.
void Director::give_up(const Error& error) {
  fmt::print(stderr, "a step of the scenario was left out: {}\n", error.message);
  ++report_.failed;
  agenda_.pop(zero_);
}

Result<void> Director::apply(const config::ImpairProfile& next) {
  Configuration configuration(next, names_);
  RuleNames names = configuration.names();
  const std::size_t count = std::max(names[0].size(), names[1].size());
  if (count > bump_->most_rules())
    return fail(
        fmt::format("a run keeps the accounts of every rule that it ever had, of up to {}, "
                    "and this would be number {}: restart it",
                    bump_->most_rules(), count));
  learn_(names);
  if (!bump_->apply(configuration)) return fail("the run has ended", ExitCode::failed);
  names_ = std::move(names);
  return {};
}

Result<void> Director::change(Result<LiveProfile::Version> next) {
  if (!next) return std::unexpected(next.error());
  if (auto applied = apply(next->profile); !applied) return applied;
  live_.keep(std::move(*next));
  return {};
}

Result<void> Director::set(std::span<const config::Edit> edits) {
  const std::lock_guard lock(mutex_);
  settle();
  return change(live_.with(edits));
}

Result<void> Director::reset() {
  const std::lock_guard lock(mutex_);
  settle();
  return change(live_.unedited());
}

Result<void> Director::load(const std::string& file) {
  const std::lock_guard lock(mutex_);
  settle();
  if (auto changed = change(live_.loaded(file)); !changed) return changed;
  const auto& steps = live_.now().profile.scenario;
  // Who was to bring a link back is forgotten.
  if (agenda_.changes_links()) agenda_.add(kAllLinksUp, nic::now());
  agenda_.begin(steps, nic::now());
  report_.all = report_.done + report_.failed + agenda_.size();
  return {};
}

Result<void> Director::command(const config::Command& command) {
  const std::lock_guard lock(mutex_);
  settle();
  auto steps = live_.on_command(command);
  if (!steps) return std::unexpected(steps.error());
  agenda_.add(*steps, nic::now());
  report_.all += steps->size();
  return {};
}

config::ImpairProfile Director::profile() const {
  const std::lock_guard lock(mutex_);
  return live_.now().profile;
}

std::optional<ScenarioReport> Director::scenario() const {
  const std::lock_guard lock(mutex_);
  if (report_.all == 0) return std::nullopt;
  return report_;
}

Report Director::snapshot() {
  const std::lock_guard lock(mutex_);
  Report report{
      .command = "run", .profile = live_.now().profile.name, .seed = live_.now().profile.seed};
  // A run that has just ended has nothing more to say than its ports.
  static_cast<void>(bump_->snapshot(report));
  report.ports = port_reports(*equipment_);
  if (report_.all > 0) report.scenario = report_;
  return report;
}

}  // namespace lw::impair

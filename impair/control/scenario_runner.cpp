// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/scenario_runner.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/quantity.h"
#include "impair/limits.h"

namespace lw::impair {
namespace {

// Interval between looks at the schedule: without a step, and with a step that waits.
constexpr Duration kQuietLook = std::chrono::milliseconds(5);
constexpr Duration kBusyLook = std::chrono::microseconds(200);
// Interval between looks at the links: a look takes some system calls.
constexpr Duration kLinkLook = std::chrono::milliseconds(10);
// Longest wait for the loop to take a step that is due: a round takes microseconds.
constexpr Duration kStepTimeout = std::chrono::milliseconds(10);
// Longest time for optics and autonegotiation. After it frames are forwarded in any case.
constexpr Duration kLinkTimeout = std::chrono::seconds(5);

// Changes, and audits of what they ended, that an answer to `show` lists: clients ask often.
constexpr std::size_t kMostShownChanges = 100;

const std::string kLinkWatch = "link watch";

const config::ScenarioStep kAllLinksUp[] = {
    {.at = {},
     .act = "load",
     .place = {},
     .links = config::LinkChange{.west = true, .east = true, .up = true}}};

}  // namespace

ScenarioRunner::ScenarioRunner(const LiveProfile::Version& profile, ForwardingLoop& loop,
                               Ports& ports, Learn learn, AddRecords add_records, ChangeLog log)
    : loop_(&loop),
      ports_(&ports),
      learn_(std::move(learn)),
      add_records_(std::move(add_records)),
      live_(profile),
      names_(rule_names_of(profile.profile)),
      log_(std::move(log)),
      links_{WatchedLink{.side = {.west = true}, .port = &ports.west},
             WatchedLink{.side = {.east = true}, .port = &ports.east}} {
  schedule_.begin(profile.profile.scenario);
  report_.all = profile.profile.scenario.size();
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

ScenarioRunner::~ScenarioRunner() {
  thread_.request_stop();
  thread_.join();
  // The loop may continue, but must not use what is lent to it.
  if (pending_) static_cast<void>(loop_->changes().withdraw());
}

void ScenarioRunner::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Duration pause{};
    {
      Lock lock(mutex_);
      pause = look_at_schedule(lock);
      look_at_links();
    }
    std::this_thread::sleep_for(pause);
  }
}

/// Looks at the schedule. Releases the lock while it prepares a step.
Duration ScenarioRunner::look_at_schedule(Lock& lock) {
  if (pending_ && loop_->changes().done()) finish();
  // Now that time 0 is known, another step may be the first.
  if (pending_ && !zero_ && loop_->zero()) withdraw_pending();
  if (pending_) return kBusyLook;
  zero_ = loop_->zero();
  const Schedule::Item* item = schedule_.next(zero_);
  if (!item) return kQuietLook;
  if (!item->step.links || !item->step.links->up || link_is_back(*item)) lend_next(lock);
  return kBusyLook;
}

/// Prepares the next step and lends it to the loop. Nothing that this step depends on changes
/// meanwhile, because changes wait for it: see settle_step().
void ScenarioRunner::lend_next(Lock& lock) {
  const Schedule::Item item = *schedule_.next(zero_);
  const Base from = base();
  preparing_step_ = true;
  lock.unlock();
  auto pending = prepare_step(item.step, from);
  lock.lock();
  preparing_step_ = false;
  step_prepared_.notify_all();
  if (!pending) return give_up(pending.error());
  pending_ = std::move(*pending);
  if (pending_->next) learn_(pending_->names);
  loop_->changes().lend_until_due(pending_->change, item.step.at, item.since_zero);
}

Result<std::unique_ptr<ScenarioRunner::Pending>> ScenarioRunner::prepare_step(
    const config::ScenarioStep& step, const Base& base) {
  auto pending = std::make_unique<Pending>();
  pending->change.links = step.links;
  pending->names = base.names;
  if (step.edits.empty()) return pending;
  auto next = base.live.stepped(step);
  if (!next) return std::unexpected(next.error());
  pending->change.configuration =
      std::make_unique<ForwardingLoop::Configuration>(next->profile, base.names);
  pending->names = pending->change.configuration->names();
  pending->next = std::move(*next);
  return pending;
}

/// Sets the device's link up, and waits for it before frames are forwarded. Returns false while it
/// is not up yet.
bool ScenarioRunner::link_is_back(const Schedule::Item& item) {
  const auto due = item.due(zero_);
  if (!due || nic::now() < *due) return false;
  if (!links_back_by_) {
    set_links(*item.step.links);
    links_back_by_ = nic::now() + kLinkTimeout;
  }
  const bool up = (!item.step.links->west || ports_->west.link_up()) &&
                  (!item.step.links->east || ports_->east.link_up());
  if (!up && nic::now() < *links_back_by_) return false;
  links_back_by_.reset();
  return true;
}

void ScenarioRunner::set_links(const config::LinkChange& change) {
  if (change.west) ports_->west.set_link(change.up);
  if (change.east) ports_->east.set_link(change.up);
}

/// Updates the watched links after a step of the scenario. If it set links down, sets those of the
/// devices down, too.
void ScenarioRunner::plan_links(const config::LinkChange& change) {
  for (WatchedLink& link : links_) {
    if (!(link.side.west ? change.west : change.east)) continue;
    link.planned_down = !change.up;
    link.up = true;  // a link that is still down counts as a new loss
  }
  if (!change.up) set_links(change);
}

void ScenarioRunner::watch_links(config::OnLinkLoss on_loss) {
  const std::lock_guard lock(mutex_);
  on_loss_ = on_loss;
  watched_since_ = nic::now();
}

std::array<LinkLosses, 2> ScenarioRunner::end_watching() {
  auto losses = link_losses();
  const std::lock_guard lock(mutex_);
  on_loss_.reset();
  return losses;
}

std::array<LinkLosses, 2> ScenarioRunner::link_losses() const {
  const std::lock_guard lock(mutex_);
  std::array<LinkLosses, 2> losses{links_[0].losses, links_[1].losses};
  for (std::size_t i = 0; i < losses.size(); ++i)
    if (!links_[i].up) losses[i].time += nic::now() - links_[i].lost_at;
  return losses;
}

/// Samples what the box lost, under the lock.
void ScenarioRunner::look_at_losses() {
  const Instant now = nic::now();
  next_sample_ = now + std::chrono::seconds(1);
  sample_losses(loss_times_, *ports_, now - watched_since_);
  for (const auto direction :
       {emulator::Direction::west_to_east, emulator::Direction::east_to_west})
    loss_times_.directions[static_cast<std::size_t>(direction)].sample(loop_->lost_here(direction),
                                                                       now - watched_since_);
}

OwnLossTimes ScenarioRunner::loss_times() {
  const std::lock_guard lock(mutex_);
  look_at_losses();
  return loss_times_;
}

void ScenarioRunner::look_at_links() {
  if (!on_loss_ || nic::now() < next_look_) return;
  next_look_ = nic::now() + kLinkLook;
  if (next_look_ > next_sample_) look_at_losses();
  for (WatchedLink& link : links_)
    if (!link.planned_down) look_at_link(link);
}

void ScenarioRunner::look_at_link(WatchedLink& link) {
  using enum nic::Port::LinkState;
  nic::Port::LinkState state = link.port->link_state();
  if (link.up && state != up) return lose_link(link, state);
  if (link.up) return;
  if (state == gone && link.port->bind_again()) state = link.port->link_state();
  if (state != up) return;
  config::LinkChange back = link.side;
  back.up = true;
  const auto effect = loop_->set_links(back);
  if (!effect) return;
  link.up = true;
  note_links(back, *effect, kLinkWatch);
  const Duration time = nic::now() - link.lost_at;
  link.losses.time += time;
  fmt::print(stderr, "port `{}` has its link again, after {}\n", link.port->name(),
             format_duration(time));
}

void ScenarioRunner::lose_link(WatchedLink& link, nic::Port::LinkState state) {
  link.up = false;
  link.lost_at = nic::now();
  ++link.losses.count;
  const bool stops = *on_loss_ == config::OnLinkLoss::stop;
  fmt::print(stderr, "port `{}` {}: {}\n", link.port->name(),
             state == nic::Port::LinkState::gone ? "has disappeared" : "has lost its link",
             stops ? "the run ends (on_link_loss = \"hold\" waits for it)"
                   : "its frames are dropped and counted until it is back");
  if (const auto effect = loop_->set_links(link.side)) note_links(link.side, *effect, kLinkWatch);
  if (stops) loop_->end();
}

/// Takes back the lent step, so that a change can take effect. A step that is due goes first.
void ScenarioRunner::settle_step(Lock& lock) {
  step_prepared_.wait(lock, [this] { return !preparing_step_; });
  if (!pending_) return;
  const auto due = schedule_.next(zero_)->due(zero_);
  const Instant give_up = nic::now() + kStepTimeout;
  while (due && *due <= nic::now() && !loop_->changes().done() && nic::now() < give_up)
    std::this_thread::sleep_for(kBusyLook);
  withdraw_pending();
}

/// Takes back the lent step; if the loop has used it already, finishes it.
void ScenarioRunner::withdraw_pending() {
  if (!pending_) return;
  if (!loop_->changes().withdraw()) return finish();
  pending_.reset();
}

void ScenarioRunner::finish() {
  const Schedule::Item& item = *schedule_.next(zero_);
  // Time 0 may have become known in the round that took the step.
  const auto due = item.due(zero_ ? zero_ : loop_->zero());
  ++report_.done;
  const Effect& effect = pending_->change.effect;
  if (due) report_.latest = std::max(report_.latest, effect.at - *due);
  if (pending_->change.links) {
    plan_links(*pending_->change.links);
    note_links(*pending_->change.links, effect, item.by());
  }
  if (pending_->next)
    keep(std::move(*pending_->next), *pending_->change.configuration, effect, item.by());
  names_ = std::move(pending_->names);
  schedule_.pop(zero_);
  pending_.reset();
}

/// Makes a version the present one. Logs what differs, and audits the configuration that it has
/// replaced.
void ScenarioRunner::keep(LiveProfile::Version version,
                          const ForwardingLoop::Configuration& replaced, const Effect& effect,
                          const std::string& by) {
  log_.add(effect, by, live_.differences(version));
  ended_.add(effect, replaced.pipelines(), version.profile.rules);
  live_.keep(std::move(version));
  ++changes_;
}

void ScenarioRunner::note_links(const config::LinkChange& change, const Effect& effect,
                                const std::string& by) {
  log_.add(effect, by, link_changes(change));
}

/// Skips a step that was valid at the start and is not now, because a file that it names has
/// changed.
void ScenarioRunner::give_up(const Error& error) {
  fmt::print(stderr, "a step of the scenario was left out: {}\n", error.message);
  ++report_.failed;
  schedule_.pop(zero_);
}

/// Puts `configuration` in force. It was made with names_.
Result<Effect> ScenarioRunner::apply(ForwardingLoop::Configuration& configuration) {
  RuleNames names = configuration.names();
  const std::size_t count = std::max(names[0].size(), names[1].size());
  if (count > loop_->most_rules())
    return fail(
        fmt::format("a run keeps the accounts of every rule that it ever had, of up to {}, "
                    "and this would be number {}: restart it",
                    loop_->most_rules(), count));
  learn_(names);
  const auto effect = loop_->apply(configuration);
  if (!effect)
    return fail("the run does not forward: a port has no link yet, or the run has ended",
                ExitCode::failed);
  names_ = std::move(names);
  return *effect;
}

ScenarioRunner::Base ScenarioRunner::base() const {
  return {.live = live_,
          .names = names_,
          .undo = undo_.empty() ? std::nullopt : std::optional(undo_.back()),
          .changes = changes_};
}

/// Makes something from the state of the run without the lock, and uses it under the lock. If the
/// state has changed meanwhile, both begin anew.
template <class T, class Use>
Result<void> ScenarioRunner::prepare(
    From from, std::function<Result<T>(const Base&, const std::stop_token&)> make, Use use) {
  const auto until = PreparingThread::Clock::now() + kLongestPreparation;
  while (true) {
    Lock lock(mutex_);
    const auto begin = std::make_shared<const Base>(base());
    lock.unlock();
    auto made = preparing_.run<T>(
        until, [make, begin](const std::stop_token& given_up) { return make(*begin, given_up); });
    if (!made) return std::unexpected(made.error());
    lock.lock();
    settle_step(lock);
    if (from == From::version ? changes_ == begin->changes : names_ == begin->names)
      return use(std::move(*made));
  }
}

/// Makes a version of the profile, and puts it in force.
Result<void> ScenarioRunner::change(From from, Make make, const std::string& by, const Kept& kept) {
  const auto prepared = [make = std::move(make)](
                            const Base& base, const std::stop_token& given_up) -> Result<Prepared> {
    auto version = make(base, given_up);
    if (!version) return std::unexpected(version.error());
    auto configuration =
        std::make_unique<ForwardingLoop::Configuration>(version->profile, base.names);
    return Prepared{std::move(*version), std::move(configuration)};
  };
  return prepare<Prepared>(from, prepared, [&](Prepared next) -> Result<void> {
    const auto effect = apply(*next.configuration);
    if (!effect) return std::unexpected(effect.error());
    LiveProfile::Point before = live_.point();
    auto scenario = std::exchange(next.version.profile.scenario, {});
    keep(std::move(next.version), *next.configuration, *effect, by);
    kept(std::move(before), std::move(scenario));
    return {};
  });
}

/// Stores a state for the next undo.
void ScenarioRunner::remember(LiveProfile::Point before) {
  undo_.push_back(std::move(before));
  if (undo_.size() > kMostUndo) undo_.pop_front();
}

Result<void> ScenarioRunner::undo(const std::string& by) {
  return change(
      From::version,
      [](const Base& base, const auto& /*given_up*/) -> Result<LiveProfile::Version> {
        if (!base.undo)
          return fail("undo: no set, load or reset is left that could be undone", ExitCode::failed);
        return base.live.back_to(*base.undo);
      },
      by,
      [this, &by](const LiveProfile::Point& before, const auto& /*scenario*/) {
        undo_.pop_back();
        if (before.source != live_.now().source) begin_scenario({}, by, {});
      });
}

Result<void> ScenarioRunner::set(std::span<const config::Edit> edits, const std::string& by) {
  return change(
      From::version,
      [all = std::vector(edits.begin(), edits.end())](const Base& base, const auto& /*given_up*/) {
        return base.live.with(all);
      },
      by,
      [this](LiveProfile::Point before, const auto& /*scenario*/) { remember(std::move(before)); });
}

Result<config::ImpairProfile> ScenarioRunner::preview(std::span<const config::Edit> edits) {
  Lock lock(mutex_);
  const LiveProfile live = live_;
  lock.unlock();
  auto next = preparing_.run<LiveProfile::Version>(
      PreparingThread::Clock::now() + kLongestPreparation,
      [live, all = std::vector(edits.begin(), edits.end())](const auto& /*given_up*/) {
        return live.with(all);
      });
  if (!next) return std::unexpected(next.error());
  return std::move(next->profile);
}

Result<void> ScenarioRunner::reset(const std::string& by) {
  return change(
      From::version,
      [](const Base& base, const auto& /*given_up*/) { return base.live.unedited(); }, by,
      [this](LiveProfile::Point before, const auto& /*scenario*/) { remember(std::move(before)); });
}

/// Rules are identified by their index among the names of all rules, so another change may make
/// this one begin anew, but a step that adds no rule does not.
Result<void> ScenarioRunner::load(const config::FileName& file, const std::string& by,
                                  Instant begin) {
  return change(
      From::names,
      [file](const Base& base, const std::stop_token& given_up) {
        return base.live.loaded(file, given_up);
      },
      by,
      [this, &by, begin](LiveProfile::Point before,
                         const std::vector<config::ScenarioStep>& scenario) {
        remember(std::move(before));
        begin_scenario(scenario, by, begin);
      });
}

/// Replaces the scenario by that of another profile, which begins at `begin`, or now.
void ScenarioRunner::begin_scenario(std::span<const config::ScenarioStep> steps,
                                    const std::string& by, Instant begin) {
  // The old scenario's steps that would set a link up are gone.
  if (schedule_.changes_links()) schedule_.add(kAllLinksUp, nic::now(), by);
  schedule_.begin(steps, std::max(begin, nic::now()));
  report_.all = report_.done + report_.failed + schedule_.size();
}

Result<void> ScenarioRunner::command(const config::ControlCommand& command, const std::string& by,
                                     Instant begin) {
  using Steps = std::vector<config::ScenarioStep>;
  const auto make = [command](const Base& base, const std::stop_token& given_up) {
    return base.live.on_command(command, given_up);
  };
  return prepare<Steps>(From::version, make, [&](const Steps& steps) -> Result<void> {
    if (schedule_.of_commands() + steps.size() > kMostCommandSteps)
      return fail(fmt::format("event: expected at most {} steps of commands that wait, found {}: "
                              "wait until some are done",
                              kMostCommandSteps, schedule_.of_commands() + steps.size()),
                  ExitCode::failed);
    schedule_.add(steps, std::max(begin, nic::now()), by);
    report_.all += steps.size();
    return {};
  });
}

config::ImpairProfile ScenarioRunner::profile() const {
  Lock lock(mutex_);
  const auto version = live_.shared();
  lock.unlock();
  return version->profile;
}

std::optional<ScenarioReport> ScenarioRunner::scenario(Instant end) const {
  const std::lock_guard lock(mutex_);
  return results(end);
}

std::optional<ScenarioReport> ScenarioRunner::results(Instant by) const {
  if (report_.all == 0) return std::nullopt;
  ScenarioReport report = report_;
  report.overdue = schedule_.overdue(loop_->zero(), by - kLatestStep);
  return report;
}

std::pair<ChangeLog, EndedAudits> ScenarioRunner::changes() const {
  const std::lock_guard lock(mutex_);
  return {log_, ended_};
}

Report ScenarioRunner::snapshot() {
  // The lock is free while the loop answers: the end of a run and the scenario need it, and clients
  // may ask again and again.
  ForwardingLoop::Statistics statistics;
  const bool answered = loop_->snapshot(statistics);
  const auto losses = link_losses();
  const std::lock_guard lock(mutex_);
  look_at_losses();
  Report report{
      .command = "run", .profile = live_.now().profile.name, .seed = live_.now().profile.seed};
  if (answered) {  // after the end of the loop, only the ports have statistics
    report.seconds = statistics.seconds;
    report.directions = std::move(statistics.directions);
    report.held_up = statistics.held_up;
    report.stalls = statistics.stalls;
  }
  set_losses(report, *ports_, losses, loss_times_);
  report.scenario = results(nic::now());
  add_changes(report, log_, ended_, kMostShownChanges);
  add_records_(report);
  return report;
}

}  // namespace lw::impair

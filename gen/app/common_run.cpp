// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/common_run.h"

#include <algorithm>
#include <cstdio>
#include <sched.h>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.h"
#include "core/quantity.h"
#include "gen/limits.h"
#include "nic/clock.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"

namespace lw::gen {
namespace {

using report::Json;
using std::chrono::milliseconds;

/// Time from the agreement to the start: the news must have reached every rank.
constexpr Duration kUntilStart = std::chrono::seconds(1);
/// mpirun kills what still runs 1 s after a signal. This part of it is for what other ranks send,
/// the rest for the report.
constexpr Duration kAfterSignal = milliseconds(350), kCollectAfterSignal = milliseconds(550),
                   kLeaveAfterSignal = milliseconds(800);
/// Longest wait for the other ranks after a stop for another reason.
constexpr Duration kAfterStop = std::chrono::seconds(5);
/// Time in which ranks report their errors together with the first one.
constexpr Duration kMoreErrors = std::chrono::seconds(1);
/// Longest wait for the ranks' good-byes after an error. A rank that waits for a link says none.
constexpr Duration kGoodbye = std::chrono::seconds(2), kGoodbyeAfterSignal = milliseconds(100);
/// Round trips of a comparison. It ends early after this time, once there are some.
constexpr std::uint32_t kMostRoundTrips = 200, kFewRoundTrips = 20;
constexpr Duration kLongestComparison = milliseconds(50);
/// A rank that has just answered a ping doesn't sleep: it would answer the next one late.
constexpr Duration kAttentive = milliseconds(5);

}  // namespace

/// Messages. "to 0": from any rank to rank 0.
enum CommonRun::Kind : int {
  kSelf,     // to 0: machine, ports and identity
  kPlan,     // from 0: what all ranks are
  kFailed,   // to 0: an error that ends all
  kReady,    // to 0: all is open and checked
  kPing,     // from 0
  kPong,     // to 0: the rank's clock
  kStart,    // from 0: when, and the correction of the rank's clock
  kSent,     // to 0: all frames are sent
  kAllSent,  // from 0: by all ranks
  kEnded,    // to 0: nothing more will be received
  kClosed,   // from 0: all have ended
  kPart,     // to 0: the results
  kStop,     // to 0 and from 0: stop sending
  kLeave,    // from 0: the exit code
  kGone,     // to 0: the answer to it
};

CommonRun::CommonRun(Ranks& ranks, const std::atomic<bool>& signal, bool quiet)
    : ranks_(ranks),
      signal_(signal),
      quiet_(quiet),
      patience_(kAfterSignal),
      peers_(static_cast<std::size_t>(ranks.size())),
      clocks_(static_cast<std::size_t>(ranks.size())) {}

void CommonRun::send(std::size_t to, Kind kind, const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (to == static_cast<std::size_t>(ranks_.rank()))
    return handle({.from = ranks_.rank(), .kind = kind, .text = text});
  ranks_.send(static_cast<int>(to), kind, text);
}

void CommonRun::send_all(Kind kind, const Json& json) {
  for (std::size_t rank = 1; rank < peers_.size(); ++rank) send(rank, kind, json);
}

void CommonRun::handle_all() {
  while (const auto message = ranks_.poll()) handle(*message);
}

/// Reads the content of a message. A wrong one ends the run, and nothing is returned.
template <class Content>
std::optional<Content> CommonRun::read(int from, const Json& json) {
  Content content;
  const auto fits = report::read_json(json, content);
  if (fits) return content;
  const std::string why = fmt::format("its message is wrong: {}", fits.error());
  const auto sender = static_cast<std::size_t>(from);
  if (ranks_.leads()) note_failure(sender, {why, ExitCode::failed});
  stop_all(fmt::format("{}: {}", name_of(sender), why));
  return std::nullopt;
}

void CommonRun::handle(const Ranks::Message& message) {
  const Json json = parse_json(message.text);
  if (ranks_.leads())
    handle_as_leader(message.from, message.kind, json);
  else
    handle_as_follower(message.kind, json);
}

/// Rank 0: a rank has sent its frames.
void CommonRun::note_sent(int from, const RankSent& sent) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  peer.sent = true;
  peer.frames = sent.frames;
  if (!sent.failure.empty())
    stop_all(fmt::format("{}: {}", name_of(static_cast<std::size_t>(from)), sent.failure));
  announce_sent();
}

void CommonRun::handle_as_leader(int from, int kind, const Json& json) {
  const auto rank = static_cast<std::size_t>(from);
  Peer& peer = peers_[rank];
  switch (kind) {
    case kSelf:
      peer.self = read<Introduction>(from, json);
      break;
    case kFailed:
      if (const auto end = read<RunEnd>(from, json)) {
        note_failure(rank, {end->reason, end->code()});
        stop_all(fmt::format("{}: {}", name_of(rank), end->reason));
      }
      break;
    case kReady:
      peer.ready = true;
      break;
    case kPong:
      if (const auto clock = read<ClockReading>(from, json)) pong_ = instant_from_ns(clock->ns);
      break;
    case kSent:
      if (const auto frames = read<RankSent>(from, json)) note_sent(from, *frames);
      break;
    case kEnded:
      peer.ended = true;
      break;
    case kPart:
      if (auto results = read<RankResults>(from, json)) peer.part = std::move(results->text);
      break;
    case kStop:
      if (const auto end = read<RunEnd>(from, json)) stop_all(end->reason);
      break;
    case kGone:
      peer.gone = true;
      break;
    default:
      break;
  }
}

void CommonRun::handle_as_follower(int kind, const Json& json) {
  switch (kind) {
    case kPlan:
      plan_ = read<RunPlan>(0, json);
      break;
    case kPing:
      send(0, kPong, report::json_of(ClockReading{to_ns(clock_now())}));
      last_ping_ = nic::now();
      break;
    case kStart:
      start_ = read<RunStart>(0, json);
      break;
    case kAllSent:
      if (const auto sent = read<RankSent>(0, json)) all_sent_ = sent->frames;
      break;
    case kClosed:
      closed_ = true;
      break;
    case kStop:
      if (const auto end = read<RunEnd>(0, json)) stop_all(end->reason);
      break;
    case kLeave: {
      const auto end = read<RunEnd>(0, json);
      code_ = end ? end->code() : ExitCode::failed;
      break;
    }
    default:
      break;
  }
}

/// Stops this rank's run; rank 0 stops the others too. The first reason counts.
void CommonRun::stop_all(const std::string& reason) {
  if (stop_.exchange(true)) return;
  stopped_at_ = nic::now();
  reason_ = reason;
  if (ranks_.leads()) send_all(kStop, report::json_of(RunEnd{.reason = reason}));
}

void CommonRun::follow_signal() {
  if (!signal_.load(std::memory_order_relaxed) || signalled_at_) return;
  constexpr const char* kReason = "stopped by a signal";
  signalled_at_ = nic::now();
  if (!ranks_.leads()) send(0, kStop, report::json_of(RunEnd{.reason = kReason}));
  stop_all(kReason);
}

void CommonRun::poll() {
  handle_all();
  follow_signal();
}

/// Sleeps for a moment, unless a ping may come at any time.
void CommonRun::nap() const {
  if (nic::now() - last_ping_ < kAttentive)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// Waits until `done()`. Returns false some time after a signal or a stop, or after `longest`.
template <class Done>
bool CommonRun::wait(Done done, const Meanwhile& meanwhile, std::optional<Duration> longest) {
  const Instant begin = nic::now();
  while (true) {
    poll();
    if (done()) return true;
    const Instant now = nic::now();
    if (!longest && signalled_at_ && now - *signalled_at_ > patience_) return false;
    if (!longest && stopped_at_ && now - *stopped_at_ > kAfterStop) return false;
    if (longest && now - begin > *longest) return false;
    if (meanwhile) meanwhile();
    nap();
  }
}

/// True if `of(peer)` is true of every rank.
template <class Of>
bool CommonRun::every(Of of) const {
  return std::ranges::all_of(peers_, of);
}

std::string CommonRun::name_of(std::size_t rank) const {
  if (rank < shares_.size()) return rank_name(rank, shares_[rank].host);
  if (rank < selves_.size()) return rank_name(rank, usual_name(selves_, rank));
  const auto& self = peers_[rank].self;
  return rank_name(rank, self ? self->self.machine : "?");
}

/// Rank 0: notes an error of a rank. Ranks with equal errors are named together.
void CommonRun::note_failure(std::size_t rank, const Error& error) {
  peers_[rank].failed = true;
  const auto known = std::ranges::find(failures_, error.message, &Failure::text);
  if (known != failures_.end())
    known->ranks.push_back(rank);
  else
    failures_.push_back({error.message, error.exit, {rank}});
}

/// Rank 0: notes an error that belongs to no single rank. Returns an error without a message.
std::unexpected<Error> CommonRun::fail_each(const std::string& what, ExitCode exit) {
  Failure& all = failures_.emplace_back(what, exit, std::vector<std::size_t>{});
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) all.ranks.push_back(rank);
  return fail("", exit);
}

std::optional<Error> CommonRun::failure() const {
  if (failures_.empty()) return std::nullopt;
  Error all{.message = {}, .exit = failures_.front().exit};
  for (const Failure& each : failures_) {
    std::vector<std::string> names;
    for (const std::size_t rank : each.ranks) names.push_back(name_of(rank));
    if (!all.message.empty()) all.message += '\n';
    all.message += each.ranks.size() == peers_.size()
                       ? each.text
                       : fmt::format("{}: {}", fmt::join(names, ", "), each.text);
  }
  return all;
}

Error CommonRun::fail_all(const Error& error) {
  if (!ranks_.leads()) {
    if (!error.message.empty() && !code_)
      send(0, kFailed, report::json_of(RunEnd{error.message, to_int(error.exit)}));
    return {.message = {}, .exit = error.exit};
  }
  if (!error.message.empty()) note_failure(0, error);
  if (!signalled_at_ && peers_[0].self)
    wait([this] { return every([](const Peer& peer) { return peer.ready || peer.failed; }); }, {},
         kMoreErrors);
  return failure().value_or(error);
}

ExitCode CommonRun::leave(ExitCode code) {
  if (!ranks_.leads()) return follow_out();
  const auto all_gone = [this] { return every([](const Peer& peer) { return peer.gone; }); };
  peers_[0].gone = true;
  send_all(kLeave, report::json_of(RunEnd{.reason = {}, .exit = to_int(code)}));
  if (!wait(all_gone, {}, signalled_at_ ? kGoodbyeAfterSignal : kGoodbye)) ranks_.abandon();
  return code;
}

/// Other ranks than 0: waits for the exit code.
ExitCode CommonRun::follow_out() {
  while (!code_) {
    poll();
    if (signalled_at_ && nic::now() - *signalled_at_ > kLeaveAfterSignal) {
      ranks_.abandon();
      return ExitCode::failed;
    }
    nap();
  }
  send(0, kGone);
  return *code_;
}

/// Rank 0: notes the errors of the introductions, and what differs.
void CommonRun::read_introductions(const std::string& identity) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const Introduction& found = *peers_[rank].self;
    selves_.push_back(found.self);
    if (found.exit != to_int(ExitCode::done))
      note_failure(rank, {found.error, static_cast<ExitCode>(found.exit)});
    else if (!identity.empty() && found.identity != identity)
      note_failure(rank,
                   {"it has another profile or another program than rank 0", ExitCode::usage});
  }
}

Result<void> CommonRun::meet(const RankSelf& self, const Result<void>& fit,
                             const std::string& identity) {
  Introduction own{.self = self, .identity = identity, .error = {}};
  if (ranks_.size() > kMostRanks) {
    own.error = fmt::format("mpirun -n: expected at most {} ranks of one run, found {}", kMostRanks,
                            ranks_.size());
    own.exit = to_int(ExitCode::usage);
  } else if (!fit) {
    own.error = fit.error().message;
    own.exit = to_int(fit.error().exit);
  }
  send(0, kSelf, report::json_of(own));
  if (!ranks_.leads()) {
    if (!wait([this] { return plan_ || code_; }) || !plan_) return fail("", ExitCode::failed);
    selves_ = plan_->ranks;
    return {};
  }
  if (!wait([this] { return every([](const Peer& peer) { return peer.self.has_value(); }); }))
    return fail_each("stopped by a signal before the start", ExitCode::failed);
  read_introductions(fit ? identity : "");
  if (!failures_.empty()) return fail("", failures_.front().exit);
  send_all(kPlan, report::json_of(RunPlan{selves_}));
  return {};
}

Result<void> CommonRun::agreed(const Result<void>& result) {
  if (result) return {};
  if (!ranks_.leads()) return fail("", result.error().exit);
  return fail_each(result.error().message, result.error().exit);
}

Result<std::vector<RankShare>> CommonRun::introduce(const RankSelf& self,
                                                    const Result<config::FlowProfile>& profile,
                                                    const std::string& identity) {
  const Result<void> fit = profile ? Result<void>{} : std::unexpected(profile.error());
  if (auto met = meet(self, fit, identity); !met) return std::unexpected(met.error());
  auto shares = shares_of(*profile, selves_);
  if (auto same = agreed(shares ? Result<void>{} : std::unexpected(shares.error())); !same)
    return std::unexpected(same.error());
  shares_ = *shares;
  return shares;
}

Instant CommonRun::clock_now() const noexcept {
  return nic::now() + (clock_ != nullptr ? clock_->offset() : Duration{0});
}

/// Rank 0: compares its clock with that of another rank.
ClockDifference CommonRun::compare_with(std::size_t rank, const Meanwhile& meanwhile) {
  ClockComparison comparison;
  const Instant begin = nic::now();
  for (std::uint32_t trip = 0; trip < kMostRoundTrips && !stop_; ++trip) {
    if (trip >= kFewRoundTrips && nic::now() - begin > kLongestComparison) break;
    pong_.reset();
    const Instant sent = clock_now();
    send(rank, kPing);
    while (!pong_ && !stop_) {
      handle_all();
      if (pong_) break;
      follow_signal();
      sched_yield();
    }
    if (pong_) comparison.add(sent, *pong_, clock_now());
    if (meanwhile) meanwhile();
  }
  return comparison.result();
}

Result<Companions::Start> CommonRun::start(nic::StampClock& clock, const Meanwhile& meanwhile) {
  clock_ = &clock;
  send(0, kReady);
  if (!ranks_.leads()) {
    wait([this] { return start_ || code_; }, meanwhile);
    if (!start_) return fail("", ExitCode::failed);
    if (start_->corrects) clock.follow(Duration{start_->ahead}, start_->clock, start_->name);
    return Start{.at = instant_from_ns(start_->at) - clock.offset(), .run = start_->run};
  }
  const bool ready = wait(
      [this] { return !failures_.empty() || every([](const Peer& peer) { return peer.ready; }); },
      meanwhile);
  if (!failures_.empty()) return fail("", failures_.front().exit);
  if (!ready) return fail_each("stopped by a signal before the start", ExitCode::failed);
  for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
    clocks_[rank].before = compare_with(rank, meanwhile);
    clocks_[rank].corrected = clock.machines_own();
  }
  if (stop_) return fail_each("stopped by a signal before the start", ExitCode::failed);
  const std::uint16_t run = new_run();
  const Instant at = clock_now() + kUntilStart;
  for (std::size_t rank = 1; rank < peers_.size(); ++rank)
    send(rank, kStart,
         report::json_of(RunStart{.at = to_ns(at),
                                  .run = run,
                                  .corrects = clocks_[rank].corrected,
                                  .ahead = -clocks_[rank].before.ahead.count(),
                                  .clock = clock.id(),
                                  .name = clock.name()}));
  return Start{.at = at - clock.offset(), .run = run};
}

void CommonRun::begun() {
  if (!ranks_.leads() || quiet_) return;
  Duration bound{0};
  for (const RankClock& clock : clocks_) bound = std::max(bound, clock.before.bound);
  fmt::print(stderr, "{} ranks have started; their clocks are compared to within {}\n",
             peers_.size(), format_duration(bound));
}

/// Rank 0: tells the others once every rank has sent its frames.
void CommonRun::announce_sent() {
  if (!every([](const Peer& peer) { return peer.sent; })) return;
  std::uint64_t frames = 0;
  for (const Peer& peer : peers_) frames += peer.frames;
  all_sent_ = frames;
  send_all(kAllSent, report::json_of(RankSent{.frames = frames, .failure = {}}));
}

void CommonRun::sent(std::uint64_t frames, const std::string& failure) {
  send(0, kSent, report::json_of(RankSent{frames, failure}));
}

void CommonRun::end(const Meanwhile& meanwhile) {
  send(0, kEnded);
  if (!ranks_.leads()) {
    // After a stop the results are due at once: rank 0 may be waiting for a dead rank.
    wait([this] { return closed_ || code_ || stop_; }, meanwhile);
    return;
  }
  wait([this] { return every([](const Peer& peer) { return peer.ended || peer.failed; }); },
       meanwhile);
  for (std::size_t rank = 1; rank < peers_.size() && !stop_; ++rank)
    clocks_[rank].after = compare_with(rank, meanwhile);
  send_all(kClosed);
}

std::vector<std::string> CommonRun::collect(const std::string& part) {
  RankResults results{part};
  if (part.size() > kMostResults) {
    const std::string reason =
        fmt::format("its results have {}: expected at most {}; give the rank fewer QPs",
                    format_bytes(static_cast<double>(part.size())),
                    format_bytes(static_cast<double>(kMostResults)));
    send(0, kFailed, report::json_of(RunEnd{reason, to_int(ExitCode::failed)}));
    results.text.clear();
  }
  send(0, kPart, report::json_of(results));
  if (!ranks_.leads()) return {};
  patience_ = kCollectAfterSignal;
  wait([this] {
    // A rank that did not say that it has ended is dead or late: its results are not waited for.
    return every([](const Peer& peer) { return peer.part || !peer.ended; });
  });
  std::vector<std::string> parts;
  for (const Peer& peer : peers_) parts.push_back(peer.part.value_or(""));
  return parts;
}

std::vector<RankTiming> CommonRun::timings(const std::vector<std::string>& parts) const {
  std::vector<RankTiming> timings;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank)
    timings.push_back({.clock = clocks_[rank], .reported = !parts[rank].empty(), .late = {}});
  return timings;
}

}  // namespace lw::gen

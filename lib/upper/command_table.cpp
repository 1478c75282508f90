// SPDX-License-Identifier: BSD-3-Clause
#include "upper/command_table.h"

#include <algorithm>
#include <utility>

#include "upper/limits.h"

namespace lw::upper {
namespace {

/// How long its side was silent before a passage.
Duration silence_before(const PassTimes& passage) noexcept {
  return stamp_difference(passage.first, std::min(passage.previous, passage.first));
}

/// Divides the time from the begin of a command to the delivery of its reply: each moment belongs
/// to one leg, or to the time between two.
class Timeline {
 public:
  explicit Timeline(StorageCommand& command) : command_(command), cursor_(command.begin) {}

  /// `answered`: when the other side first sent something after it: what came again later was not
  /// needed.
  void pass(const Leg& leg, Instant answered) {
    PassTimes passage = *leg.passage;
    if (passage.delivered > answered) passage.delivered = std::min(passage.sent, answered);
    if (passage.first > cursor_) add_gap(leg, stamp_difference(passage.first, cursor_));
    cursor_ = std::max(cursor_, passage.first);
    if (passage.delivered > cursor_) add_passage(leg, passage);
    cursor_ = std::max(cursor_, passage.delivered);
    was_target_ = leg.from_target;
    answered_ = leg.passage.get();
  }

 private:
  void add_gap(const Leg& leg, Duration gap) {
    if (leg.waited_for_credit) {
      command_.part(Part::credit_wait) += gap;
      return;
    }
    const bool answers = leg.from_target != was_target_;
    const bool of_target = leg.from_target && (answers || leg.is_reply);
    add_delay({.length = gap,
               .silence = std::min(gap, silence_before(*leg.passage)),
               .to_ack = answers ? ack_after(gap) : Duration{},
               .at_target = leg.from_target,
               .answers = answers,
               .rest = of_target ? Part::target : Part::transfer});
  }
  /// Until the ACK of what the other side got; 0: none passed before the answer.
  [[nodiscard]] Duration ack_after(Duration gap) const noexcept {
    if (answered_ == nullptr || !answered_->acknowledged) return {};
    const Duration wait = stamp_difference(answered_->acknowledged_at, cursor_);
    return wait <= gap ? std::max(wait, Duration{}) : Duration{};
  }
  void add_delay(const SideDelay& delay) {
    if (command_.delay_count < StorageCommand::kMostDelays) {
      command_.delays[command_.delay_count++] = delay;
      return;
    }
    const auto like = std::ranges::find_if(
        command_.delays, [&](const SideDelay& one) { return one.is_like(delay); });
    SideDelay& to = like == command_.delays.end() ? command_.delays.front() : *like;
    to.length += delay.length;
    to.silence = std::max(to.silence, delay.silence);
    to.to_ack += delay.to_ack;
  }
  void add_passage(const Leg& leg, const PassTimes& passage) {
    const Duration whole = stamp_difference(passage.delivered, cursor_);
    const Duration late =
        stamp_difference(passage.delivered, std::max(passage.sent, cursor_)) + passage.held;
    const Duration recovery = std::clamp(late, Duration{}, whole);
    command_.part(Part::recovery) += recovery;
    if (leg.from_target) command_.target_recovery += recovery;
    command_.part(Part::transfer) += whole - recovery;
    if (recovery > Duration{} && command_.recovery_frame == 0) {
      command_.recovery_frame =
          passage.repeated_frame != 0 ? passage.repeated_frame : passage.last_frame;
      command_.recovery_of_newest = passage.repeated_frame != 0 && passage.repeated_newest;
      command_.recovery_direction =
          leg.from_target ? static_cast<std::uint8_t>(1 - command_.direction) : command_.direction;
    }
  }

  StorageCommand& command_;
  Instant cursor_;
  bool was_target_ = false;
  const PassTimes* answered_ = nullptr;  // the passage before
};

/// When the other side first sent something after a leg, at the latest at the command's end.
Instant answer_after(const std::vector<Leg>& legs, std::size_t leg, Instant end) noexcept {
  for (std::size_t i = leg + 1; i < legs.size(); ++i)
    if (legs[i].from_target != legs[leg].from_target)
      return std::min(end, std::max(legs[i].passage->first, legs[leg].passage->first));
  return end;
}

/// Hosts of NVMe end a command when they have its completion and the acknowledgement of its
/// request, whose capsule they may then use again.
void note_late_ack(StorageCommand& command, const PassTimes& request) noexcept {
  if (command.protocol != UpperProtocol::nvme || request.known_at <= command.end) return;
  command.late_ack = stamp_difference(request.known_at, command.end);
  if (command.recovery_frame != 0) return;
  command.recovery_frame = request.repeated_frame;
  command.recovery_of_newest = request.repeated_newest;
}

}  // namespace

CommandTable::OpenPtr CommandTable::make(const StorageCommand& command,
                                         std::span<const DataRegion> regions,
                                         std::span<const Leg> legs) {
  OpenPtr open;
  if (shared_.spare.empty()) {
    open = std::make_unique<OpenCommand>();
  } else {
    open = std::move(shared_.spare.back());
    shared_.spare.pop_back();
  }
  open->command = command;
  open->regions.assign(regions.begin(), regions.end());
  open->legs.assign(legs.begin(), legs.end());
  open->serial = ++serial_;
  return open;
}

/// Counts the commands that are open with a new one.
void CommandTable::note_depth(StorageCommand& command) {
  command.depth = outstanding() + 1;
  command.full_at_begin = facts_.limit && command.depth >= *facts_.limit;
  if (command.full_at_begin) ++facts_.exhausted;
  facts_.most_outstanding = std::max(facts_.most_outstanding, command.depth);
}

/// Adds up the time with as many commands as the credits, or the queue, allow.
void CommandTable::note_exhausted(Instant now) {
  shared_.newest = std::max(shared_.newest.value_or(now), now);
  if (exhausted_since_ && now > *exhausted_since_)
    facts_.exhausted_time += stamp_difference(now, *exhausted_since_);
  exhausted_since_.reset();
  if (facts_.limit && outstanding() >= *facts_.limit) exhausted_since_ = now;
}

void CommandTable::note_failure(const StorageCommand& command) {
  ++facts_.errors;
  if (!command.status) return;
  const auto known = std::ranges::find_if(facts_.failed, [&](const FailedCount& count) {
    return count.kind == command.kind && count.status == *command.status;
  });
  if (known != facts_.failed.end()) {
    ++known->commands;
  } else if (facts_.failed.size() < kMostStatuses) {
    facts_.failed.push_back({command.kind, *command.status, 1});
  }
}

std::optional<Duration> CommandTable::silence_before(Instant now) const noexcept {
  if (!shared_.newest) return std::nullopt;
  return stamp_difference(now, *shared_.newest);
}

/// Whether a keep-alive came too late, or was not answered within its timeout.
bool CommandTable::is_missed(const StorageCommand& command) const noexcept {
  if (command.is_late) return true;
  if (!command.is_keep_alive || !facts_.keep_alive) return false;
  const Instant until = command.ended ? command.end : shared_.newest.value_or(command.begin);
  return stamp_difference(until, command.begin) > *facts_.keep_alive;
}

void CommandTable::begin(const StorageCommand& command, std::span<const DataRegion> regions,
                         std::span<const Leg> legs) {
  if (const auto known = open_.find(command.id); known != open_.end()) {
    ++facts_.replaced;
    give_up(known);
  }
  if (shared_.open >= kMostOpenCommands) give_up_oldest();
  ++facts_.commands;
  ++shared_.open;
  OpenPtr made = make(command, regions, legs);
  OpenCommand& open = *made;
  note_depth(open.command);
  const PassTimes& asked = *open.legs.front().passage;
  open.command.connection = facts_.connection;
  open.command.protocol = facts_.protocol;
  open.command.begin = asked.first;
  open.command.begin_frame = asked.first_frame;
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (i == 0 || regions[i].r_key != regions[i - 1].r_key)
      by_key_.emplace(regions[i].r_key, &open);
  begun_.emplace_back(open.serial, command.id);
  open_.emplace(command.id, std::move(made));
  note_exhausted(asked.delivered);
  if (!early_.empty()) end_early(open);
}

/// Ends a new command whose reply has passed already.
void CommandTable::end_early(OpenCommand& open) {
  const auto early = std::ranges::find(early_, open.command.id, &Reply::id);
  if (early == early_.end() || early->passage->first <= open.command.begin) return;
  const Reply reply = *early;
  early_.erase(early);
  end(reply);
}

OpenCommand* CommandTable::find(std::uint64_t id) {
  const auto open = open_.find(id);
  return open == open_.end() ? nullptr : open->second.get();
}

void CommandTable::add_leg(OpenCommand& open, Leg leg) {
  if (open.legs.size() < kMostLegs) {
    open.legs.push_back(std::move(leg));
    return;
  }
  PassTimes& last = *open.legs.back().passage;
  last.sent = std::max(last.sent, leg.passage->sent);
  last.delivered = std::max(last.delivered, leg.passage->delivered);
  if (last.repeated_frame == 0) last.repeated_frame = leg.passage->repeated_frame;
}

OpenCommand* CommandTable::data(const UpperMessage& message) {
  const auto [first, last] = by_key_.equal_range(message.r_key);
  for (auto known = first; known != last; ++known) {
    OpenCommand& open = *known->second;
    const bool fits = std::ranges::any_of(
        open.regions, [&](const DataRegion& region) { return region.has(message); });
    if (!fits) continue;
    add_leg(open, {.from_target = true, .passage = message.request});
    if (message.response) add_leg(open, {.from_target = false, .passage = message.response});
    return &open;
  }
  return nullptr;
}

void CommandTable::end(const Reply& reply) {
  constexpr std::size_t kMostEarly = 64;
  if (const auto known = open_.find(reply.id); known != open_.end()) return close(known, reply);
  early_.push_back(reply);
  if (early_.size() <= kMostEarly) return;
  early_.pop_front();
  ++facts_.beginless;
}

void CommandTable::close(ById::iterator known, const Reply& reply) {
  OpenPtr open = remove(known);
  StorageCommand& command = open->command;
  command.ended = true;
  command.status = reply.status;
  command.failed = reply.failed;
  command.sq_head = reply.sq_head;
  if (reply.kind != 0) command.kind = reply.kind;
  if (reply.failed) note_failure(command);
  ++facts_.matched;
  note_exhausted(reply.passage->delivered);
  open->legs.push_back({.from_target = true, .is_reply = true, .passage = reply.passage});
  ended_.push_back(std::move(open));
  finalize_old();
}

/// Removes a command from those that are open.
CommandTable::OpenPtr CommandTable::remove(ById::iterator known) {
  OpenPtr open = std::move(known->second);
  open_.erase(known);
  forget_regions(*open);
  --shared_.open;
  forget_closed();
  return open;
}

/// Keeps the list of begun commands as short as that of the open ones.
void CommandTable::forget_closed() {
  constexpr std::size_t kMostClosed = 64;
  const auto is_closed = [&](const auto& begun) {
    const OpenCommand* const open = find(begun.second);
    return open == nullptr || open->serial != begun.first;
  };
  while (!begun_.empty() && is_closed(begun_.front())) begun_.pop_front();
  if (begun_.size() > 2 * open_.size() + kMostClosed) std::erase_if(begun_, is_closed);
}

void CommandTable::forget_regions(const OpenCommand& open) {
  for (const DataRegion& region : open.regions) {
    const auto [first, last] = by_key_.equal_range(region.r_key);
    const auto known =
        std::find_if(first, last, [&](const auto& entry) { return entry.second == &open; });
    if (known != last) by_key_.erase(known);
  }
}

/// Ends a command without its completion.
void CommandTable::give_up(ById::iterator known) {
  ++facts_.open;
  finalize(remove(known));
}

void CommandTable::give_up_oldest() {
  forget_closed();
  if (!begun_.empty()) give_up(open_.find(begun_.front().second));
}

void CommandTable::finalize_old() {
  const auto is_final = [](const OpenCommand& open) {
    return open.legs.back().passage->acknowledged && open.legs.front().passage->ack_confirmed;
  };
  while (!ended_.empty() && (is_final(*ended_.front()) || ended_.size() > kMostUnsettled)) {
    finalize(std::move(ended_.front()));
    ended_.pop_front();
  }
}

void CommandTable::finalize(OpenPtr open) {
  constexpr std::size_t kMostSpare = 1024;
  StorageCommand& command = open->command;
  if (command.ended) {
    const PassTimes& reply = *open->legs.back().passage;
    command.end = std::max(command.begin, reply.delivered);
    command.end_frame = reply.last_frame;
    Timeline timeline(command);
    for (std::size_t i = 0; i < open->legs.size(); ++i)
      timeline.pass(open->legs[i], answer_after(open->legs, i, command.end));
    note_late_ack(command, *open->legs.front().passage);
  } else {
    command.end = std::max(command.begin, shared_.newest.value_or(command.begin));
    command.recovery_frame = open->legs.front().passage->repeated_frame;
    command.recovery_of_newest = open->legs.front().passage->repeated_newest;
    command.recovery_direction = command.direction;
  }
  if (is_missed(command)) ++facts_.keep_alives_missed;
  command.begin_psn = analysis::psn_of(open->legs.front().passage->last_psn);
  on_command_(command);
  open->legs.clear();
  if (shared_.spare.size() < kMostSpare) shared_.spare.push_back(std::move(open));
}

void CommandTable::finish() {
  facts_.beginless += early_.size();
  early_.clear();
  while (!ended_.empty()) {
    finalize(std::move(ended_.front()));
    ended_.pop_front();
  }
  while (!open_.empty()) give_up_oldest();
}

}  // namespace lw::upper

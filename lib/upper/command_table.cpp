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
  }

 private:
  void add_gap(const Leg& leg, Duration gap) {
    if (leg.waited_for_credit) {
      command_.part(Part::credit_wait) += gap;
    } else if (leg.from_target != was_target_) {
      add_delay({gap, std::min(gap, silence_before(*leg.passage)), leg.from_target});
    } else {
      const bool before_reply = leg.from_target && leg.is_reply;
      command_.part(before_reply ? Part::target : Part::transfer) += gap;
    }
  }
  void add_delay(const AnswerDelay& delay) {
    const std::size_t count = command_.delay_count;
    for (std::size_t i = 0; count == StorageCommand::kMostDelays && i < count; ++i)
      if (command_.delays[i].at_target == delay.at_target) {
        command_.delays[i].length += delay.length;
        command_.delays[i].silence = std::max(command_.delays[i].silence, delay.silence);
        return;
      }
    if (count == StorageCommand::kMostDelays) {
      command_.delays[0].length += delay.length;
      return;
    }
    command_.delays[command_.delay_count++] = delay;
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
      command_.recovery_direction =
          leg.from_target ? static_cast<std::uint8_t>(1 - command_.direction) : command_.direction;
    }
  }

  StorageCommand& command_;
  Instant cursor_;
  bool was_target_ = false;
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
  if (command.protocol != UpperProtocol::nvme || request.acknowledged_at <= command.end) return;
  command.late_ack = stamp_difference(request.acknowledged_at, command.end);
  if (command.recovery_frame == 0) command.recovery_frame = request.repeated_frame;
}

}  // namespace

OpenCommand& CommandTable::begin(StorageCommand command, std::vector<DataRegion> regions,
                                 std::vector<Leg> legs) {
  const std::uint64_t id = command.id;
  if (open_.contains(id)) {
    ++facts_.replaced;
    give_up(id);
  }
  if (budget_.open >= kMostOpenCommands && !by_serial_.empty()) give_up(by_serial_.begin()->second);
  ++facts_.commands;
  ++budget_.open;
  command.depth = outstanding() + 1;
  command.full_at_begin = facts_.limit && command.depth >= *facts_.limit;
  if (command.full_at_begin) ++facts_.exhausted;
  facts_.most_outstanding = std::max(facts_.most_outstanding, command.depth);
  const PassTimes& asked = *legs.front().passage;
  command.connection = facts_.connection;
  command.protocol = facts_.protocol;
  command.begin = asked.first;
  command.begin_frame = asked.first_frame;
  for (const DataRegion& region : regions) {
    auto& ids = by_key_[region.r_key];
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }
  by_serial_.emplace(++serial_, id);
  OpenCommand& open =
      open_.try_emplace(id, OpenCommand{command, std::move(legs), std::move(regions), serial_})
          .first->second;
  const auto early = std::ranges::find(early_, id, &Reply::id);
  if (early != early_.end() && early->passage->first > open.command.begin) {
    const Reply reply = *early;
    early_.erase(early);
    end(reply);
    return ended_.back();
  }
  return open;
}

OpenCommand* CommandTable::find(std::uint64_t id) {
  const auto open = open_.find(id);
  return open == open_.end() ? nullptr : &open->second;
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
  const auto known = by_key_.find(message.r_key);
  if (known == by_key_.end()) return nullptr;
  for (const std::uint64_t id : known->second) {
    OpenCommand* const open = find(id);
    if (open == nullptr) continue;
    const bool fits = std::ranges::any_of(
        open->regions, [&](const DataRegion& region) { return region.has(message); });
    if (!fits) continue;
    add_leg(*open, {.from_target = true, .passage = message.request});
    if (message.response) add_leg(*open, {.from_target = false, .passage = message.response});
    return open;
  }
  return nullptr;
}

void CommandTable::end(const Reply& reply) {
  constexpr std::size_t kMostEarly = 64;
  OpenCommand* const open = find(reply.id);
  if (open != nullptr) return close(*open, reply);
  early_.push_back(reply);
  if (early_.size() <= kMostEarly) return;
  early_.pop_front();
  ++facts_.beginless;
}

void CommandTable::close(OpenCommand& open, const Reply& reply) {
  StorageCommand& command = open.command;
  command.ended = true;
  command.status = reply.status;
  command.failed = reply.failed;
  command.sq_head = reply.sq_head;
  if (reply.kind != 0) command.kind = reply.kind;
  if (reply.failed) ++facts_.errors;
  ++facts_.matched;
  open.legs.push_back({.from_target = true, .is_reply = true, .passage = reply.passage});
  forget_regions(open);
  by_serial_.erase(open.serial);
  ended_.push_back(std::move(open));
  open_.erase(reply.id);
  --budget_.open;
  finalize_old();
}

void CommandTable::forget_regions(const OpenCommand& open) {
  for (const DataRegion& region : open.regions) {
    const auto known = by_key_.find(region.r_key);
    if (known == by_key_.end()) continue;
    std::erase(known->second, open.command.id);
    if (known->second.empty()) by_key_.erase(known);
  }
}

/// Ends a command without its completion.
void CommandTable::give_up(std::uint64_t id) {
  const auto known = open_.find(id);
  OpenCommand open = std::move(known->second);
  forget_regions(open);
  by_serial_.erase(open.serial);
  open_.erase(known);
  --budget_.open;
  ++facts_.open;
  finalize(open);
}

void CommandTable::finalize_old() {
  // The newest stays for the caller of begin().
  const auto is_final = [](const OpenCommand& open) {
    return open.legs.back().passage->acknowledged && open.legs.front().passage->acknowledged;
  };
  while (ended_.size() > 1 && (is_final(ended_.front()) || ended_.size() > kMostUnsettled)) {
    finalize(ended_.front());
    ended_.pop_front();
  }
}

void CommandTable::finalize(OpenCommand& open) {
  StorageCommand& command = open.command;
  if (command.ended) {
    const PassTimes& reply = *open.legs.back().passage;
    command.end = std::max(command.begin, reply.delivered);
    command.end_frame = reply.last_frame;
    Timeline timeline(command);
    for (std::size_t i = 0; i < open.legs.size(); ++i)
      timeline.pass(open.legs[i], answer_after(open.legs, i, command.end));
    note_late_ack(command, *open.legs.front().passage);
  }
  command.begin_psn = analysis::psn_of(open.legs.front().passage->last_psn);
  take_(command);
}

void CommandTable::finish() {
  facts_.beginless += early_.size();
  early_.clear();
  for (OpenCommand& open : ended_) finalize(open);
  ended_.clear();
  while (!by_serial_.empty()) give_up(by_serial_.begin()->second);
}

}  // namespace lw::upper

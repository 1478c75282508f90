// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/events/event_targets.h"

#include <algorithm>
#include <bit>

#include "core/limits.h"

namespace lw::emulator {
namespace {

constexpr int kPsnBits = 24, kFromBits = 2, kKindBits = 4;

/// Returns the attributes of a target as one number, which is never 0 because no group is 0.
constexpr std::uint64_t key_of(EventTargets::Group group, PacketKind kind, PsnFrom from,
                               std::uint32_t psn) noexcept {
  std::uint64_t key = group;
  key = key << kKindBits | static_cast<std::uint64_t>(kind);
  key = key << kFromBits | static_cast<std::uint64_t>(from);
  return key << kPsnBits | psn;
}

constexpr std::uint8_t bit_of(PsnFrom from) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(from));
}

constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;

void apply(EventAction action, Duration delay, EventActions& aimed) noexcept {
  switch (action) {
    case EventAction::drop:
      aimed.drop = true;
      break;
    case EventAction::mark:
      aimed.mark = true;
      break;
    case EventAction::corrupt:
      aimed.corrupt = true;
      break;
    case EventAction::delay:
      aimed.delay = std::min<Duration>(aimed.delay + delay, kLongestTime);
      break;
    case EventAction::duplicate:
      if (aimed.copies < kMostEventCopies) ++aimed.copies;
      break;
  }
}

}  // namespace

std::string_view name_of(EventAction action) noexcept {
  constexpr std::string_view kNames[] = {"drop", "mark", "corrupt", "delay", "duplicate"};
  return kNames[static_cast<std::size_t>(action)];
}

EventTargets::Group EventTargets::add_group() {
  pending_of_.push_back(0);
  forms_of_.push_back(0);
  return static_cast<Group>(pending_of_.size() - 1);
}

void EventTargets::add(Group group, const EventConfig& event) {
  const std::uint32_t psn = event.psn_from == PsnFrom::any ? 0 : event.psn;
  // A profile's list of PSNs becomes many events of one name.
  const bool same = !names_.empty() && names_.back() == event.name;
  const auto name = same ? names_.end() - 1 : std::ranges::find(names_, event.name);
  const auto index = static_cast<std::uint32_t>(name - names_.begin());
  if (name == names_.end()) names_.push_back(event.name);
  events_.push_back({.key = key_of(group, event.on, event.psn_from, psn),
                     .occurrence = event.occurrence,
                     .action = event.action,
                     .name = index,
                     .order = static_cast<std::uint32_t>(events_.size()),
                     .group = group,
                     .delay = event.delay,
                     .from_now = event.from_now});
  forms_of_[group] |= bit_of(event.psn_from);
  ++pending_of_[group];
  ++pending_;
}

/// Sorts the events. Allocates nothing.
void EventTargets::sort() noexcept {
  std::ranges::sort(events_, [](const Event& a, const Event& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.occurrence != b.occurrence ? a.occurrence < b.occurrence : a.order < b.order;
  });
  for (std::uint32_t i = 0; i < events_.size(); ++i) places_[events_[i].order] = i;
}

void EventTargets::seal() {
  places_.resize(events_.size());
  sort();
  targets_.assign(std::bit_ceil(2 * events_.size() + 2), {});
  shift_ = 64 - std::countr_zero(targets_.size());
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    Target& target = *find(events_[i].key);
    if (target.key == 0) target = {events_[i].key, 0, i, i};
    target.end = i + 1;
  }
}

void EventTargets::inherit(const EventTargets& old) noexcept {
  for (Event& event : events_) {
    const Target& before = old.targets_[old.place_of(event.key)];
    if (event.order < old.events_.size()) {
      const Event& same = old.events_[old.places_[event.order]];
      event.occurrence = same.occurrence;
      event.happened = same.happened;
    } else if (event.from_now) {
      event.occurrence += before.count;
    }
  }
  sort();
  for (Target& target : targets_) {
    if (target.key == 0) continue;
    target.count = old.targets_[old.place_of(target.key)].count;
    while (target.next < target.end && events_[target.next].occurrence <= target.count)
      ++target.next;
  }
  find_pending();
}

/// Finds the events that can still happen: events whose occurrence has passed can't.
void EventTargets::find_pending() noexcept {
  std::ranges::fill(pending_of_, 0U);
  pending_ = 0;
  for (const Event& event : events_) {
    if (event.happened || event.occurrence <= targets_[place_of(event.key)].count) continue;
    ++pending_of_[event.group];
    ++pending_;
  }
}

/// Returns the index of the target, or of the empty slot for it.
std::size_t EventTargets::place_of(std::uint64_t key) const noexcept {
  std::size_t at = key * kSpread >> shift_;
  while (targets_[at].key != key && targets_[at].key != 0) at = (at + 1) & (targets_.size() - 1);
  return at;
}

void EventTargets::meet(Group group, const PacketPlace& place, EventActions& aimed) noexcept {
  const auto meet_as = [&](PsnFrom from, std::uint32_t psn) {
    if (forms_of_[group] & bit_of(from)) meet(key_of(group, place.kind, from, psn), group, aimed);
  };
  meet_as(PsnFrom::any, 0);
  meet_as(PsnFrom::absolute, place.psn);
  meet_as(PsnFrom::start, place.offset);
}

void EventTargets::meet(std::uint64_t key, Group group, EventActions& aimed) noexcept {
  Target& target = *find(key);
  if (target.key == 0) return;
  ++target.count;
  while (target.next < target.end && events_[target.next].occurrence == target.count)
    happen(events_[target.next++], group, aimed);
}

void EventTargets::happen(Event& event, Group group, EventActions& aimed) noexcept {
  event.happened = true;
  --pending_of_[group];
  --pending_;
  apply(event.action, event.delay, aimed);
}

std::vector<EventOutcome> EventTargets::outcomes() const {
  std::vector<EventOutcome> result;
  for (const std::string& name : names_) result.push_back({name});
  for (const Event& event : events_) {
    EventOutcome& outcome = result[event.name];
    ++outcome.all;
    outcome.happened += event.happened ? 1U : 0U;
  }
  return result;
}

}  // namespace lw::emulator

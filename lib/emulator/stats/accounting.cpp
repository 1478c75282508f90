// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/accounting.h"

#include <algorithm>

#include "core/figure.h"

namespace lw::emulator {

const FigureTable& Amount::figures() {
  using Row = FigureOf<Amount>;
  static constexpr Figure kRows[] = {
      Row::of<&Amount::frames>("frames", "Number of frames.", Unit::frames),
      Row::of<&Amount::bytes>("bytes", "Their bytes, without FCS.", Unit::bytes)};
  static constexpr FigureTable kTable{"Frames and their bytes.", kRows};
  return kTable;
}

namespace {

template <ResourceDrop kWant>
constexpr Figure drop_row(std::string_view meaning) {
  return FigureOf<ResourceDrops>::of<[](const ResourceDrops& drops) {
    return drops[static_cast<std::size_t>(kWant)];
  }>(name_of(kWant), meaning);
}

}  // namespace

const FigureTable& ResourceDrops::figures() {
  using enum ResourceDrop;
  static constexpr Figure kRows[] = {drop_row<no_room>("The release queue was full."),
                                     drop_row<egress_full>("The egress port took no more frames."),
                                     drop_row<no_buffer>("No buffer was free for a copy."),
                                     drop_row<stopped>("The run ended while they waited."),
                                     drop_row<link_down>("The egress link was down.")};
  static constexpr FigureTable kTable{
      "Frames lost because the box had no room, buffer or link, by resource.", kRows};
  return kTable;
}

const FigureTable& Account::figures() {
  using Row = FigureOf<Account>;
  static constexpr Figure kRows[] = {
      Row::of<&Account::name>("name", "Name of the direction or rule."),
      Row::of<&Account::received>("received", "Frames that came in."),
      Row::of<&Account::created>("created",
                                 "Frames that the box made: duplicates and pause frames."),
      Row::of<&Account::sent>("sent", "Frames that went out."),
      Row::of<&Account::consumed>("consumed",
                                  "Frames that ended in the box: pause frames honoured."),
      Row::of<&Account::dropped_by_rule>("dropped_by_rule", "Frames that a rule dropped."),
      Row::of<&Account::dropped_for_resource>("dropped_for_resource",
                                              "Frames lost for lack of a resource.")
          .by("resource"),
      Row::of<&Account::in_flight>("in_flight", "Frames that are still in the box.").as_gauge(),
      Row::of<&Account::holds>("holds", kHoldsMeaning)};
  static constexpr FigureTable kTable{"Counters of one direction or rule, and their identity.",
                                      kRows};
  return kTable;
}

Amount Account::wanting() const noexcept {
  Amount sum;
  for (const Amount& amount : dropped_for_resource) sum += amount;
  return sum;
}

Amount unasked_losses(const Account& account) noexcept {
  Amount lost;
  for (const auto want :
       {ResourceDrop::no_room, ResourceDrop::egress_full, ResourceDrop::no_buffer})
    lost += account.dropped_for_resource[static_cast<std::size_t>(want)];
  return lost;
}

bool Account::holds() const noexcept {
  return received + created == sent + consumed + dropped_by_rule + wanting() + in_flight;
}

Amount Account::remainder() const noexcept {
  const Amount in = received + created, out = sent + consumed + dropped_by_rule + wanting();
  // In a running system the counters are read one after the other, while frames move.
  return {in.frames - std::min(in.frames, out.frames), in.bytes - std::min(in.bytes, out.bytes)};
}

void Account::add(const Account& other) noexcept {
  received += other.received;
  created += other.created;
  sent += other.sent;
  consumed += other.consumed;
  dropped_by_rule += other.dropped_by_rule;
  for (std::size_t i = 0; i < kResourceDrops; ++i)
    dropped_for_resource[i] += other.dropped_for_resource[i];
  in_flight += other.in_flight;
}

bool Accounting::holds() const noexcept {
  Account sum;
  bool each = direction.holds();
  for (const Account& rule : rules) {
    each = each && rule.holds();
    sum.add(rule);
  }
  return each && sum.received == direction.received && sum.created == direction.created &&
         sum.sent == direction.sent && sum.consumed == direction.consumed &&
         sum.dropped_by_rule == direction.dropped_by_rule &&
         sum.dropped_for_resource == direction.dropped_for_resource &&
         sum.in_flight == direction.in_flight;
}

Account AccountCounters::account(std::string name) const {
  Account account;
  account.name = std::move(name);
  account.received = received.get();
  account.created = created.get();
  account.sent = sent.get();
  account.consumed = consumed.get();
  account.dropped_by_rule = dropped_by_rule.get();
  for (std::size_t i = 0; i < kResourceDrops; ++i)
    account.dropped_for_resource[i] = dropped_for_resource[i].get();
  return account;
}

}  // namespace lw::emulator

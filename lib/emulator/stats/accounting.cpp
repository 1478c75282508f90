// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/accounting.h"

#include <algorithm>

namespace lw::emulator {

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

// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/telemetry.h"

#include <charconv>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <rte_telemetry.h>

namespace lw::impair {
namespace {

/// Data for DPDK's callbacks, which get no argument from us and can't be unregistered.
struct Source {
  std::mutex mutex;
  std::function<Report()> snapshot;
} source;

Report take_snapshot() {
  const std::lock_guard lock(source.mutex);
  return source.snapshot ? source.snapshot() : Report{};
}

/// Returns a name for DPDK's dictionaries, which allow only letters, digits, `_` and `/`.
std::string key(std::string_view direction, std::string_view figure) {
  std::string text = fmt::format("{}/{}", direction, figure);
  for (char& c : text)
    if (c == '-' || c == '.') c = '_';
  return text;
}

void add(rte_tel_data* out, std::string_view direction, std::string_view figure,
         std::uint64_t value) {
  rte_tel_data_add_dict_u64(out, key(direction, figure).c_str(), value);
}

void add_amount(rte_tel_data* out, std::string_view direction, std::string_view figure,
                const emulator::Amount& amount) {
  add(out, direction, fmt::format("{}_frames", figure), amount.frames);
  add(out, direction, fmt::format("{}_bytes", figure), amount.bytes);
}

void add_account(rte_tel_data* out, std::string_view direction, const emulator::Account& account) {
  add_amount(out, direction, "received", account.received);
  add_amount(out, direction, "created", account.created);
  add_amount(out, direction, "sent", account.sent);
  add_amount(out, direction, "consumed", account.consumed);
  add_amount(out, direction, "dropped_by_rule", account.dropped_by_rule);
  add_amount(out, direction, "in_flight", account.in_flight);
  for (std::size_t i = 0; i < emulator::kResourceDrops; ++i)
    add_amount(out, direction,
               fmt::format("dropped_{}", name_of(static_cast<emulator::ResourceDrop>(i))),
               account.dropped_for_resource[i]);
}

void add_spread(rte_tel_data* out, std::string_view direction, std::string_view figure,
                const Spread& spread) {
  const std::pair<std::string_view, std::int64_t> points[] = {
      {"p50", spread.p50}, {"p99", spread.p99}, {"p99.9", spread.p999}, {"max", spread.maximum}};
  for (const auto& [name, ns] : points)
    rte_tel_data_add_dict_int(out, key(direction, fmt::format("{}_{}_ns", figure, name)).c_str(),
                              static_cast<int>(std::min<std::int64_t>(ns, INT_MAX)));
}

int give_stats(const char*, const char*, rte_tel_data* out) {
  const Report report = take_snapshot();
  rte_tel_data_start_dict(out);
  for (const auto& each : report.directions) {
    const auto& name = each.accounting.direction.name;
    add_account(out, name, each.accounting.direction);
    add_spread(out, name, "delay", each.delay);
    add_spread(out, name, "release_error", each.release_error);
    add_spread(out, name, "pass_latency", each.pass_latency);
  }
  return 0;
}

/// Lists "direction: rule" in the order of the rule numbers in requests.
int give_rule_names(const Report& report, rte_tel_data* out) {
  rte_tel_data_start_array(out, RTE_TEL_STRING_VAL);
  for (const auto& each : report.directions)
    for (const auto& rule : each.accounting.rules)
      rte_tel_data_add_array_string(
          out, fmt::format("{}: {}", each.accounting.direction.name, rule.name).c_str());
  return 0;
}

int give_rules(const char*, const char* parameters, rte_tel_data* out) {
  const Report report = take_snapshot();
  const std::string_view asked = parameters ? parameters : "";
  if (asked.empty()) return give_rule_names(report, out);
  std::size_t place = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), place);
  if (error != std::errc() || end != asked.data() + asked.size()) return -EINVAL;
  for (const auto& each : report.directions) {
    if (place < each.accounting.rules.size()) {
      rte_tel_data_start_dict(out);
      rte_tel_data_add_dict_string(out, "name", each.accounting.rules[place].name.c_str());
      add_account(out, each.accounting.direction.name, each.accounting.rules[place]);
      return 0;
    }
    place -= each.accounting.rules.size();
  }
  return -ENOENT;
}

void register_once() {
  static const bool done = [] {
    rte_telemetry_register_cmd("/impair/stats", give_stats,
                               "Frames, bytes and release error a direction. No parameters");
    rte_telemetry_register_cmd("/impair/rules", give_rules,
                               "Names of the rules. Parameter: a rule's place, for its figures");
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

Telemetry::Telemetry(std::function<Report()> snapshot) {
  register_once();
  const std::lock_guard lock(source.mutex);
  source.snapshot = std::move(snapshot);
}

Telemetry::~Telemetry() {
  const std::lock_guard lock(source.mutex);
  source.snapshot = nullptr;
}

}  // namespace lw::impair

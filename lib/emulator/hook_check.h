// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "core/figure.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"
#include "emulator/stats/rule_stats.h"

namespace lw::emulator {

/// Converts to the Stats of any stage.
struct AnyStats {
  template <class T>
  operator T&() const noexcept;  // never defined
};

/// True if S has a member that can be called as this hook is.
template <class S, Hook kHook>
inline constexpr bool kCallable = false;
template <class S>
inline constexpr bool kCallable<S, Hook::number> = requires { Stage{S::kNumber}; };
template <class S>
inline constexpr bool kCallable<S, Hook::apply> =
    requires(S& s, Passage& p, const AnyStats& stats) { s.apply(p, stats); } ||
    requires(S& s, Passage& p, const AnyStats& stats, const roce::Envelope& envelope) {
      s.apply(p, stats, envelope);
    };
template <class S>
inline constexpr bool kCallable<S, Hook::begin> =
    requires(S& s, Passage& p, const AnyStats& stats) { s.begin(p, stats); };
template <class S>
inline constexpr bool kCallable<S, Hook::skip> = requires(S& s, Passage& p) { s.skip(p); };
template <class S>
inline constexpr bool kCallable<S, Hook::leave> =
    requires(S& s, Passage& p, const AnyStats& stats, const roce::Envelope& envelope) {
      s.leave(p, stats, envelope);
    };
template <class S>
inline constexpr bool kCallable<S, Hook::acts_on_leaving> =
    requires(const RuleConfig& rule) { bool{S::acts_on_leaving(rule)}; };
template <class S>
inline constexpr bool kCallable<S, Hook::reads_headers> =
    requires(const RuleConfig& rule) { bool{S::reads_headers(rule)}; };
template <class S>
inline constexpr bool kCallable<S, Hook::fits_short_path> =
    requires(const RuleConfig& rule) { bool{S::fits_short_path(rule)}; };
template <class S>
inline constexpr bool kCallable<S, Hook::varies> =
    requires(const RuleConfig& rule) { bool{S::varies(rule)}; };
template <class S>
inline constexpr bool kCallable<S, Hook::waits> =
    requires(const RuleConfig& rule) { bool{S::waits(rule)}; };
template <class S>
inline constexpr bool kCallable<S, Hook::edits> =
    requires(const RuleConfig& rule) { bool{S::edits(rule)}; };
template <class S>
inline constexpr bool kCallable<S, Hook::inherit> = requires(S& s, const RuleConfig& rule) {
  s.inherit(s, rule, rule);
} || requires(S& s, const RuleConfig& rule, Instant now) { s.inherit(s, rule, rule, now); };
template <class S>
inline constexpr bool kCallable<S, Hook::inherit_counts> = requires(
    const RuleConfig& rule, const AnyStats& stats) { S::inherit_counts(stats, stats, rule, rule); };
template <class S>
inline constexpr bool kCallable<S, Hook::prepare> =
    requires(const RuleConfig& rule, const AnyStats& stats) { S::prepare(rule, stats); };
template <class S>
inline constexpr bool kCallable<S, Hook::read> = requires(const StageKeys& keys, RuleConfig& rule) {
  S::read(keys, rule);
} || requires(const StageKeys& keys, typename S::Settings& settings) { S::read(keys, settings); };
template <class S>
inline constexpr bool kCallable<S, Hook::describe> =
    requires(const RuleConfig& rule, StageTexts& texts) { S::describe(rule, texts); };
template <class S>
inline constexpr bool kCallable<S, Hook::audit> =
    requires(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
      S::audit(rule, stats, checks);
    };
template <class S>
inline constexpr bool kCallable<S, Hook::settings> = requires { S::settings(); };
template <class S>
inline constexpr bool kCallable<S, Hook::figures> = requires { S::figures(); };
template <class S>
inline constexpr bool kCallable<S, Hook::report> =
    requires(const RuleStats& stats, StageLines& lines) { S::report(stats, lines); };
template <class S>
inline constexpr bool kCallable<S, Hook::add_floor> =
    requires(const RuleConfig& rule, AmpleDelay& ample) { S::add_floor(rule, ample); };
template <class S>
inline constexpr bool kCallable<S, Hook::add_ample> =
    requires(const RuleConfig& rule, AmpleDelay& ample) { S::add_ample(rule, ample); };
template <class S>
inline constexpr bool kCallable<S, Hook::bytes_needed> =
    requires(const RuleConfig& rule) { std::uint64_t{S::bytes_needed(rule)}; };

/// True if S has a member of this hook's name, whatever its type.
template <class S>
consteval bool has_name(Hook hook) {
  switch (hook) {
    case Hook::number:
      return requires { S::kNumber; };
    case Hook::apply:
      return requires { &S::apply; };
    case Hook::begin:
      return requires { &S::begin; };
    case Hook::skip:
      return requires { &S::skip; };
    case Hook::leave:
      return requires { &S::leave; };
    case Hook::acts_on_leaving:
      return requires { &S::acts_on_leaving; };
    case Hook::reads_headers:
      return requires { &S::reads_headers; };
    case Hook::fits_short_path:
      return requires { &S::fits_short_path; };
    case Hook::varies:
      return requires { &S::varies; };
    case Hook::waits:
      return requires { &S::waits; };
    case Hook::edits:
      return requires { &S::edits; };
    case Hook::inherit:
      return requires { &S::inherit; };
    case Hook::inherit_counts:
      return requires { &S::inherit_counts; };
    case Hook::prepare:
      return requires { &S::prepare; };
    case Hook::read:
      return requires { &S::read; };
    case Hook::describe:
      return requires { &S::describe; };
    case Hook::audit:
      return requires { &S::audit; };
    case Hook::settings:
      return requires { &S::settings; };
    case Hook::figures:
      return requires { &S::figures; };
    case Hook::report:
      return requires { &S::report; };
    case Hook::add_floor:
      return requires { &S::add_floor; };
    case Hook::add_ample:
      return requires { &S::add_ample; };
    case Hook::bytes_needed:
      return requires { &S::bytes_needed; };
  }
  std::unreachable();
}

/// Fails to compile if the stage's list and its members differ in this hook; a compiler's message
/// names both.
template <class S, Hook kHook>
struct CheckedHook {
  static_assert(!S::kHooks.has(kHook) || kCallable<S, kHook>,
                "the stage lists this hook, and has no member that can be called as it");
  static_assert(S::kHooks.has(kHook) || !(has_name<S>(kHook) || kCallable<S, kHook>),
                "the stage has this member, and does not list its hook");
  static constexpr bool kHolds = true;
};

/// True if each hook that S lists is a member, and each hook that is a member is listed; does not
/// compile otherwise.
template <class S>
consteval bool hooks_hold() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (CheckedHook<S, static_cast<Hook>(I)>::kHolds && ...);
  }(std::make_index_sequence<kHookCount>{});
}

}  // namespace lw::emulator

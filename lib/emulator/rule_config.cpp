// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/rule_config.h"

#include <fmt/format.h>

#include "emulator/stage_keys.h"

namespace lw::emulator {

bool RuleConfig::varies() const noexcept {
  return Stages::any([&]<class S>() {
    if constexpr (requires { S::varies(*this); }) return S::varies(*this);
    return false;
  });
}

bool RuleConfig::delays() const noexcept {
  return varies() || Stages::any([&]<class S>() {
           if constexpr (requires { S::waits(*this); }) return S::waits(*this);
           return false;
         });
}

bool RuleConfig::edits() const noexcept {
  return Stages::any([&]<class S>() {
    if constexpr (requires { S::edits(*this); }) return S::edits(*this);
    return false;
  });
}

bool RuleConfig::acts_on_batch() const noexcept {
  return delays() && !when.any() &&
         Stages::all([&]<class S>() { return S::kActsOnBatch || !S::present(*this); });
}

bool RuleConfig::fits_short_path() const noexcept {
  return !when.any() && Stages::all([&]<class S>() {
    if constexpr (requires { S::fits_short_path(*this); })
      if (S::fits_short_path(*this)) return true;
    return !S::present(*this);
  });
}

bool RuleConfig::header_independent() const noexcept {
  return Stages::all([&]<class S>() {
    if constexpr (requires { S::reads_headers(*this); }) return !S::reads_headers(*this);
    return true;
  });
}

bool RuleConfig::acts_on_leaving() const noexcept {
  return Stages::any([&]<class S>() {
    if constexpr (requires { S::acts_on_leaving(*this); }) return S::acts_on_leaving(*this);
    return false;
  });
}

Duration ample_delay(const RuleConfig& rule) noexcept {
  AmpleDelay ample;
  Stages::for_each([&]<class S>() {
    if constexpr (requires { S::add_floor(rule, ample); })
      if (S::present(rule)) S::add_floor(rule, ample);
  });
  Stages::for_each([&]<class S>() {
    if constexpr (requires { S::add_ample(rule, ample); })
      if (S::present(rule)) S::add_ample(rule, ample);
  });
  return ample.total;
}

std::uint64_t stage_bytes(const RuleConfig& rule) noexcept {
  std::uint64_t bytes = 0;
  Stages::for_each([&]<class S>() {
    if constexpr (requires { S::bytes_needed(rule); })
      if (S::present(rule)) bytes += S::bytes_needed(rule);
  });
  return bytes;
}

void read_stages(const StageKeys& rule, RuleConfig& config) {
  Stages::for_each([&]<class S>() {
    if constexpr (requires { S::read(rule, config); }) S::read(rule, config);
  });
  read_schedules(rule, config);
  if (!config.keep_order && !config.varies() && !rule.has("delay"))
    rule.refuse("order",
                "expected a delay, a jitter, a trace or a queue to make a difference, found none");
}

StageTexts stage_texts(const RuleConfig& rule) {
  StageTexts texts;
  Stages::for_each([&]<class S>() {
    if constexpr (requires { S::describe(rule, texts); })
      if (S::present(rule)) S::describe(rule, texts);
  });
  Stages::for_each([&]<class S>() {
    if (const auto& when = rule.when.stage<S>())
      texts.emplace_back("when", fmt::format("{} {}", S::kName, text_of(*when)));
  });
  return texts;
}

}  // namespace lw::emulator

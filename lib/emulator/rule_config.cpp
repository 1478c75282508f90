// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/rule_config.h"

#include <fmt/format.h>

#include "emulator/hook_check.h"
#include "emulator/stage_keys.h"

namespace lw::emulator {

static_assert(Stages::all([]<class S>() { return hooks_hold<S>(); }));

bool RuleConfig::varies() const noexcept {
  return Stages::any([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::varies)) return S::varies(*this);
    return false;
  });
}

bool RuleConfig::delays() const noexcept {
  return varies() || Stages::any([&]<class S>() {
           if constexpr (S::kHooks.has(Hook::waits)) return S::waits(*this);
           return false;
         });
}

bool RuleConfig::edits() const noexcept {
  return Stages::any([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::edits)) return S::edits(*this);
    return false;
  });
}

bool RuleConfig::acts_on_batch() const noexcept {
  return delays() && !when.any() && Stages::all([&]<class S>() {
           return S::kActsOnBatch || !S::present(*this) ||
                  (std::is_same_v<S, Queue> && fits_queue_path());
         });
}

bool RuleConfig::fits_short_path() const noexcept {
  return !when.any() && Stages::all([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::fits_short_path))
      if (S::fits_short_path(*this)) return true;
    return !S::present(*this);
  });
}

bool RuleConfig::header_independent() const noexcept {
  return Stages::all([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::reads_headers)) return !S::reads_headers(*this);
    return true;
  });
}

bool RuleConfig::acts_on_leaving() const noexcept {
  return Stages::any([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::acts_on_leaving)) return S::acts_on_leaving(*this);
    return false;
  });
}

bool RuleConfig::knows_release() const noexcept {
  constexpr std::size_t kQueue = Stages::index_of<Queue>();
  return Queue::present(*this) && keep_order && !jitter && !when.any() && !acts_on_leaving() &&
         Stages::all([&]<class S>() {
           return Stages::index_of<S>() <= kQueue || std::is_same_v<S, Delay> || !S::present(*this);
         });
}

bool RuleConfig::fits_queue_path() const noexcept {
  return knows_release() && Stages::all([&]<class S>() {
           return std::is_same_v<S, Queue> || S::kActsOnBatch || !S::present(*this);
         });
}

Duration ample_delay(const RuleConfig& rule) noexcept {
  AmpleDelay ample;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::add_floor))
      if (S::present(rule)) S::add_floor(rule, ample);
  });
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::add_ample))
      if (S::present(rule)) S::add_ample(rule, ample);
  });
  return ample.total;
}

std::uint64_t stage_bytes(const RuleConfig& rule) noexcept {
  std::uint64_t bytes = 0;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::bytes_needed))
      if (S::present(rule)) bytes += S::bytes_needed(rule);
  });
  return bytes;
}

void read_stages(const StageKeys& rule, RuleConfig& config) {
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::read)) S::read(rule, config);
  });
  read_schedules(rule, config);
  if (!config.keep_order && !config.varies() && !rule.has("delay"))
    rule.refuse("order",
                "expected a delay, a jitter, a trace or a queue to make a difference, found none");
}

const FigureTable& rule_settings() {
  static const std::vector<Figure> kRows = [] {
    std::vector<Figure> rows;
    Stages::for_each([&]<class S>() {
      if constexpr (S::kHooks.has(Hook::settings)) rows.push_back(S::settings());
    });
    return rows;
  }();
  static const FigureTable kTable{"Settings of a rule's stages, by stage.", kRows};
  return kTable;
}

StageTexts stage_texts(const RuleConfig& rule) {
  StageTexts texts;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::describe))
      if (S::present(rule)) S::describe(rule, texts);
  });
  Stages::for_each([&]<class S>() {
    if (const auto& when = rule.when.stage<S>())
      texts.emplace_back("when", fmt::format("{} {}", S::kName, text_of(*when)));
  });
  return texts;
}

}  // namespace lw::emulator

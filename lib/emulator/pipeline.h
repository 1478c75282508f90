// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/events/events.h"
#include "emulator/match/classifier.h"
#include "emulator/rule.h"
#include "wire/pfc.h"

namespace lw::emulator {

/// All rules of one direction: the first that matches decides, after the events that are aimed at
/// single packets. It remembers what its stages and events need to (a queue's bytes, a model's
/// state, the QPs seen); its configuration never changes. One thread.
class Pipeline {
 public:
  /// Rules are known by their names: a rule takes the place of its name in `known`, or the next one
  /// behind them all, so that what is in flight means the same rule after a change.
  Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules,
           std::span<const EventConfig> events = {}, std::span<const std::string> known = {});

  /// Takes over from the pipeline that it is about to replace, rule by rule: see Rule::inherit().
  void inherit(Pipeline& old) noexcept;

  // Rules whose queues listen to pauses have a line each, as many as there are priorities. With
  // more lines for others, looking for the next release would cost more than the wheel does.
  static constexpr std::size_t kMostFifos = wire::kPriorities, kUsualFifos = 4;

  /// Match result: rule index (in rules()) and targeted-event actions.
  struct MatchResult {
    RuleIndex place = kUntouched;
    EventActions aimed = {};
  };
  /// Frames come in order. `bth` is bth_of(envelope).
  [[nodiscard]] MatchResult match(const roce::Envelope& envelope, const wire::Bth* bth) noexcept {
    MatchResult found{classifier_.classify(envelope, bth)};
    if (bth && events_.listening() && events_.concerns(bth->dest_qp.get())) [[unlikely]]
      found.aimed = events_.on_packet(envelope, *bth);
    return found;
  }
  /// What becomes of a frame; numbers rise by one a frame, and time never runs backwards.
  [[nodiscard]] Decision decide(const Arrival& arrival, const MatchResult& found) noexcept {
    if (found.aimed == EventActions{}) [[likely]]
      return found.place == kUntouched ? Decision{} : rules_[found.place].decide(arrival);
    Rule& rule = found.place == kUntouched ? untouched_ : rules_[found.place];
    const Decision decision = rule.decide(arrival, found.aimed);
    count_hit(decision);
    return decision;
  }
  [[nodiscard]] Decision decide(const Arrival& arrival) noexcept {
    return decide(arrival, match(arrival.envelope, arrival.bth));
  }
  /// The rule of the frame, if it acts on batches and no event targets the frame; else null.
  [[nodiscard]] Rule* batch_rule(const MatchResult& found) noexcept {
    if (found.place == kUntouched || found.aimed != EventActions{}) return nullptr;
    Rule& rule = rules_[found.place];
    return rule.acts_on_batch() ? &rule : nullptr;
  }
  /// The rule that matches all RoCEv2 packets, if its decisions need no headers (see
  /// Rule::header_independent()); else null. Targeted events are left aside.
  [[nodiscard]] Rule* header_independent_rule() noexcept {
    const RuleIndex place = classifier_.for_all_rocev2();
    if (place == kUntouched || !rules_[place].header_independent()) return nullptr;
    return &rules_[place];
  }
  /// The rule that a decision names; kUntouched is one without stages.
  [[nodiscard]] Rule& rule(RuleIndex index) noexcept {
    return index == kUntouched ? untouched_ : rules_[places_[index]];
  }
  [[nodiscard]] Events& events() noexcept { return events_; }
  [[nodiscard]] const Events& events() const noexcept { return events_; }
  [[nodiscard]] const EventHits& event_hits() const noexcept { return hits_; }
  [[nodiscard]] const std::vector<Rule>& rules() const noexcept { return rules_; }

  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  /// The configurations of rules(), in the same order.
  [[nodiscard]] const std::vector<RuleConfig>& configs() const noexcept { return *configs_; }
  /// Like configs(), for callers that may outlive this pipeline.
  [[nodiscard]] std::shared_ptr<const std::vector<RuleConfig>> shared_configs() const noexcept {
    return configs_;
  }
  /// A Decision's rule indexes them; names that were known and have no rule any more are there too.
  [[nodiscard]] const std::vector<std::string>& rule_names() const noexcept { return names_; }
  /// How many lines frames wait on; those of rules with the same constant delay share one.
  [[nodiscard]] std::size_t lines() const noexcept { return lines_.size(); }
  /// Some frames' bytes may be changed.
  [[nodiscard]] bool edits() const noexcept { return edits_; }
  /// The other direction has a queue that listens to pause frames, which come in here; they go no
  /// further then.
  [[nodiscard]] bool takes_pauses() const noexcept { return takes_pauses_; }
  /// Rules, by their place among rules(), whose queues ask for pauses, and that listen to them: for
  /// kMostFifos of them there are lines.
  [[nodiscard]] const std::vector<std::size_t>& asking() const noexcept { return asking_; }
  [[nodiscard]] const std::vector<std::size_t>& listening() const noexcept { return listening_; }
  [[nodiscard]] std::vector<Rule>& rules() noexcept { return rules_; }
  /// Some frames' releases come in no order.
  [[nodiscard]] bool uses_wheel() const noexcept { return uses_wheel_; }

 private:
  // Of a name without a rule.
  static constexpr std::size_t kNowhere = SIZE_MAX;

  void count_hit(const Decision& decision) noexcept {
    ++hits_.packets;
    if (decision.acted.has(Stage::event)) {
      ++hits_.carried_out;
    } else if (decision.action == Action::drop) {
      ++hits_.lost_before;
    }
  }
  using Indexes = std::unordered_map<std::string, RuleIndex>;  // by name
  RuleIndex index_of(const std::string& name, Indexes& indexes);
  std::vector<RuleFifos> all_lines();
  RuleFifos lines_for(const RuleConfig& rule);
  FifoIndex shared_line(Duration delay);
  FifoIndex own_line(std::size_t most = kUsualFifos);

  Direction direction_;
  std::shared_ptr<const std::vector<RuleConfig>> configs_;
  std::vector<Rule> rules_;
  Rule untouched_;
  Classifier classifier_;
  std::vector<EventConfig> event_configs_;
  Events events_;
  EventHits hits_;
  std::vector<std::string> names_;
  std::vector<std::size_t> places_;             // of a name's rule among rules_
  std::vector<std::optional<Duration>> lines_;  // the delay of a shared line
  std::vector<std::size_t> asking_, listening_;
  bool edits_ = false, uses_wheel_ = false, takes_pauses_ = false;
};

}  // namespace lw::emulator

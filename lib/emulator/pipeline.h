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
#include "emulator/match/tunnel_rules.h"
#include "emulator/rule.h"
#include "wire/pfc.h"

namespace lw::emulator {

/// All rules of one direction. The first matching rule decides, after the events that target single
/// packets. The pipeline keeps the state of its stages and events (a queue's bytes, a model's
/// state, the QPs seen); its configuration never changes. One thread.
class Pipeline {
 public:
  /// Each rule has the index of its name in `known`, or the next free index. So frames in flight
  /// refer to the same rule after a change.
  Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules,
           std::span<const EventConfig> events = {}, std::span<const std::string> known = {});

  /// Takes over the state of the pipeline that is replaced at `now`, rule by rule: see
  /// Rule::inherit().
  void inherit(Pipeline& old, Instant now) noexcept;
  /// Returns the configuration of the rule with this index; null if there is none.
  [[nodiscard]] const RuleConfig* config_of(RuleIndex index) const noexcept;
  /// The queues in which frames of rules wait.
  [[nodiscard]] const std::vector<std::shared_ptr<RulesQueue>>& queues() const noexcept {
    return queues_;
  }

  // With more FIFOs, finding the next release would cost more than using the wheel.
  static constexpr std::size_t kMostFifos = 4;

  /// Match result: rule index (in rules()) and targeted-event actions.
  struct MatchResult {
    RuleIndex place = kUntouched;
    EventActions aimed = {};
  };
  /// Matches a frame. Call it in order of arrival. `bth` is bth_of(envelope).
  [[nodiscard]] MatchResult match(const roce::Envelope& envelope, const wire::Bth* bth) noexcept {
    MatchResult found{classifier_.classify(envelope, bth)};
    if (!bth && !tunnels_.empty()) [[unlikely]]
      found.place = tunnels_.classify(envelope, found.place);
    if (bth && events_.listening() && events_.concerns(bth->dest_qp.get())) [[unlikely]]
      found.aimed = events_.on_packet(envelope, *bth);
    return found;
  }
  /// Decides about a frame. Frame numbers increase by one per frame, and time never decreases.
  [[nodiscard]] Decision decide(const IngressFrame& arrival, const MatchResult& found) noexcept {
    if (found.aimed == EventActions{}) [[likely]]
      return found.place == kUntouched ? Decision{} : rules_[found.place].decide(arrival);
    Rule& rule = found.place == kUntouched ? untouched_ : rules_[found.place];
    const Decision decision = rule.decide(arrival, found.aimed);
    count_hit(decision);
    return decision;
  }
  [[nodiscard]] Decision decide(const IngressFrame& arrival) noexcept {
    return decide(arrival, match(arrival.envelope, arrival.bth));
  }
  /// Returns the frame's rule if it acts on batches and no event targets the frame; otherwise null.
  [[nodiscard]] Rule* batch_rule(const MatchResult& found) noexcept {
    if (found.place == kUntouched || found.aimed != EventActions{}) return nullptr;
    Rule& rule = rules_[found.place];
    return rule.acts_on_batch() ? &rule : nullptr;
  }
  /// Returns the rule that matches all RoCEv2 packets, if its decisions need no headers (see
  /// Rule::header_independent()); otherwise null. Does not consider targeted events.
  [[nodiscard]] Rule* header_independent_rule() noexcept {
    const RuleIndex place = classifier_.for_all_rocev2();
    if (place == kUntouched || !rules_[place].header_independent()) return nullptr;
    return &rules_[place];
  }
  /// The rule of a decision. kUntouched refers to a rule without stages.
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
  /// Names by rule index, including names of earlier configurations that have no rule now.
  [[nodiscard]] const std::vector<std::string>& rule_names() const noexcept { return names_; }
  /// Number of FIFOs in which frames wait; rules with the same constant delay share one.
  [[nodiscard]] std::size_t lines() const noexcept { return lines_.size(); }
  /// True if a rule may change bytes of frames.
  [[nodiscard]] bool edits() const noexcept { return edits_; }
  /// The priorities whose pauses the other direction's queues obey. Their pause frames come in here
  /// and are not forwarded.
  [[nodiscard]] wire::Priorities obeyed_pauses() const noexcept { return obeyed_pauses_; }
  /// Indexes in rules() of the rules whose queues send pause frames; of those whose queues listen
  /// to them.
  [[nodiscard]] const std::vector<std::size_t>& asking() const noexcept { return asking_; }
  [[nodiscard]] const std::vector<std::size_t>& listening() const noexcept { return listening_; }
  /// Whether a rule of asking() other than that with the index `place`, with the same priority, has
  /// requested a pause and not ended it.
  [[nodiscard]] bool pausing_beside(std::size_t place) const noexcept;
  [[nodiscard]] std::vector<Rule>& rules() noexcept { return rules_; }
  /// True if frames of some rule may be due in any order.
  [[nodiscard]] bool uses_wheel() const noexcept { return uses_wheel_; }

 private:
  // Index for a name without a rule.
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
  std::shared_ptr<RulesQueue> queue_of(const RuleConfig& rule);
  [[nodiscard]] bool asked_beside(std::size_t place) const noexcept;
  RuleFifos lines_for(const RuleConfig& rule);
  FifoIndex shared_line(Duration delay);
  FifoIndex own_line();

  Direction direction_;
  std::shared_ptr<const std::vector<RuleConfig>> configs_;
  std::vector<std::shared_ptr<RulesQueue>> queues_;
  std::unordered_map<std::string, std::size_t> queue_places_;  // in queues_, by owner
  std::vector<Rule> rules_;
  Rule untouched_;
  Classifier classifier_;
  TunnelRules tunnels_;
  std::vector<EventConfig> event_configs_;
  Events events_;
  EventHits hits_;
  std::vector<std::string> names_;
  std::vector<std::size_t> places_;             // index in rules_ by name index
  std::vector<std::optional<Duration>> lines_;  // delay of a shared FIFO
  std::vector<std::size_t> asking_, listening_;
  bool edits_ = false, uses_wheel_ = false;
  wire::Priorities obeyed_pauses_ = 0;
};

}  // namespace lw::emulator

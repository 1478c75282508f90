// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/explanation.h"

#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "emulator/path.h"
#include "emulator/stage_keys.h"
#include "impair/report/rule_report.h"

namespace lw::impair {
namespace {

using emulator::amount;
using emulator::percent;
using emulator::RuleConfig;
using Statements = std::vector<Statement>;

/// Selects the overload of words() for a stage. A stage without an overload doesn't compile.
template <class S>
using Of = std::type_identity<S>;

std::string plural(std::uint64_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

void words(Of<emulator::Outage> /*stage*/, const RuleConfig& /*rule*/, Statements& out) {
  out.push_back({"outage", "The path is down: drop every frame."});
}

void words(Of<emulator::Police> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::PoliceConfig& police = *rule.police;
  out.push_back(
      {"police",
       fmt::format("Drop what exceeds {} and a burst of {}; each frame counts with {} B "
                   "beside its own bytes.",
                   format_bit_rate(police.rate_bps), amount(police.burst_bytes), police.overhead)});
}

std::string loss_words(double probability) {
  return fmt::format("Drop {} of the frames, each independently.", percent(probability));
}
std::string loss_words(const emulator::GilbertElliott& model) {
  return fmt::format(
      "Drop frames in bursts (Gilbert-Elliott): {} is the chance to enter the bad state, {} to "
      "leave it; {} of the frames are dropped in the bad state, {} in the good one.",
      percent(model.p), percent(model.r), percent(model.bad_loss), percent(model.good_loss));
}
std::string loss_words(const emulator::FourState& model) {
  return fmt::format(
      "Drop frames by a Markov chain of four states, as netem's loss state: p13 {}, p31 {}, p32 "
      "{}, p23 {}, p14 {}.",
      percent(model.p13), percent(model.p31), percent(model.p32), percent(model.p23),
      percent(model.p14));
}
std::string loss_words(const emulator::CorrelatedLosses& model) {
  return fmt::format(
      "Drop frames by draws with probability {} and correlation {}, as netem does: "
      "{} of the frames in the long run.",
      percent(model.probability), percent(model.correlation), percent(expected_loss(model, 0)));
}
std::string loss_words(const emulator::Bursts& model) {
  return fmt::format(
      "Drop runs of {} to {} frames{}; a run begins at {} of the frames.", model.shortest,
      model.longest,
      model.lengths.empty() ? "" : fmt::format(", of {} measured lengths", model.lengths.size()),
      percent(model.probability));
}
std::string loss_words(const emulator::EveryNth& model) {
  return fmt::format("Drop the last of every {} frames.", model.n);
}
std::string loss_words(const emulator::BitPattern& model) {
  std::string bits;
  for (const bool lost : model.lost) bits += lost ? '1' : '0';
  return fmt::format("Drop the frames that are 1 in the pattern {}, which repeats.", bits);
}
std::string loss_words(const emulator::BitErrors& model) {
  return fmt::format("Drop each frame that a bit error hits: {:g} of the bits are wrong.",
                     model.rate);
}
std::string loss_words(const emulator::ListedFrames& model) {
  if (model.frames.size() > 8)
    return fmt::format("Drop {} listed frames, the first of them number {} (counted from 0).",
                       model.frames.size(), model.frames.front());
  return fmt::format("Drop {} {} (counted from 0).", model.frames.size() == 1 ? "frame" : "frames",
                     fmt::join(model.frames, ", "));
}

void words(Of<emulator::Loss> /*stage*/, const RuleConfig& rule, Statements& out) {
  if (loses(rule.loss))
    out.push_back(
        {"loss", std::visit([](const auto& model) { return loss_words(model); }, rule.loss)});
}

/// Events are explained in their own section.
void words(Of<emulator::TargetedEvents> /*stage*/, const RuleConfig& /*rule*/,
           Statements& /*out*/) {}

void words(Of<emulator::Corrupt> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::CorruptConfig& corrupt = *rule.corrupt;
  static constexpr std::string_view kParts[] = {"packet, from the BTH to before the ICRC", "frame",
                                                "IPv4 checksum", "UDP length", "UDP checksum"};
  std::string text = fmt::format(
      "Corrupt {} of the frames{}: flip {} of the {}", percent(corrupt.probability),
      emulator::correlation_text(corrupt.correlation), plural(corrupt.bits, "bit", "bits"),
      kParts[static_cast<std::size_t>(corrupt.part)]);
  if (corrupt.offset) text += fmt::format(", from byte {} on", *corrupt.offset);
  if (!corrupt.of_header())
    text += corrupt.recompute_icrc ? "; the ICRC is computed again, so no check notices"
                                   : "; the ICRC becomes wrong";
  out.push_back({"corrupt", text + "."});
}

void words(Of<emulator::Duplicate> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::DuplicateConfig& duplicate = *rule.duplicate;
  out.push_back(
      {"duplicate",
       fmt::format("Duplicate {} of the frames{}: {} of each.", percent(duplicate.probability),
                   emulator::correlation_text(duplicate.correlation),
                   plural(duplicate.copies, "further copy", "further copies"))});
}

void words(Of<emulator::Limit> /*stage*/, const RuleConfig& rule, Statements& out) {
  out.push_back({"limit", fmt::format("Drop frames that come while {} of the rule are inside, "
                                      "those that are delayed too.",
                                      plural(*rule.limit, "frame", "frames"))});
}

void words(Of<emulator::Rewrite> /*stage*/, const RuleConfig& rule, Statements& out) {
  out.push_back(
      {"rewrite", fmt::format("Set {} of {} of the IP frames.", emulator::text_of(*rule.rewrite),
                              percent(rule.rewrite->probability))});
}

void words(Of<emulator::Slot> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::SlotConfig& slot = *rule.slot;
  std::string text = "Let frames go on in slots only, ";
  if (!slot.between && slot.least < slot.most) text += format_set_duration(slot.least) + " to ";
  text += slot.between ? "apart by the distribution " + emulator::describe(*slot.between)
                       : format_set_duration(slot.most) + " apart";
  if (slot.frames > 0)
    text += fmt::format(", at most {} in each", plural(slot.frames, "frame", "frames"));
  if (slot.bytes > 0) text += fmt::format(", none more once {} have gone", amount(slot.bytes));
  out.push_back({"slot", text + "."});
}

void words(Of<emulator::Mark> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::MarkConfig& mark = *rule.mark;
  std::string text;
  if (mark.probability > 0 || !mark.red)
    text = fmt::format("Mark {} of the frames with ECN CE. ", percent(mark.probability));
  if (mark.red)
    text += fmt::format(
        "Mark frames with ECN CE by the bytes {} (RED): none up to {}, {} {} {}, all above; {}. ",
        mark.red->on_leaving ? "that are behind a frame when it leaves the queue" : "in the queue",
        amount(mark.red->kmin_bytes), percent(mark.red->share), mark.red->step ? "up to" : "at",
        amount(mark.red->kmax_bytes),
        mark.not_ect == emulator::NotEct::drop ? "drop frames that can't be marked"
                                               : "pass frames that can't be marked");
  out.push_back({"mark", text + (mark.force ? "Any IP frame can be marked."
                                            : "Only ECN-capable frames (ECT) can be marked.")});
}

std::string pause_words(const emulator::PauseConfig& pfc) {
  std::string text;
  if (pfc.emit)
    text += fmt::format(
        " Send PFC pause frames for priority {} when the buffer holds {}, until it is down to {} "
        "(on a link of {}).",
        pfc.priority, amount(pfc.emit->xoff_bytes), amount(pfc.emit->xon_bytes),
        format_bit_rate(pfc.link_bps));
  if (pfc.honour)
    text += fmt::format(" Obey PFC pause frames for priority {}: the queue waits.", pfc.priority);
  return text;
}

std::string queue_words(const emulator::QueueConfig& queue) {
  const std::string cells =
      queue.cell == 0 ? ""
                      : fmt::format(", in cells of {} B, each of which takes {} B besides",
                                    queue.cell, queue.cell_overhead);
  return fmt::format(
      "Send through a queue at {} with a buffer of {}; drop what finds it "
      "full. Each frame takes {} B of the link beside its own bytes{}.{}",
      format_bit_rate(queue.rate_bps), amount(queue.buffer_bytes), queue.overhead, cells,
      queue.pfc ? pause_words(*queue.pfc) : "");
}

std::string share_words(const emulator::BufferShare& share) {
  std::string text;
  if (share.reserve_bytes > 0)
    text += fmt::format(", {} of it reserved for the class", amount(share.reserve_bytes));
  if (share.limit_bytes != emulator::BufferShare::kNoLimit)
    text += fmt::format(", of which the class may fill {}", amount(share.limit_bytes));
  if (std::isfinite(share.alpha))
    text += fmt::format(", of which the class may fill {} times what is free", share.alpha);
  return text;
}

std::string class_words(const RuleConfig& rule) {
  const emulator::QueueUse& use = *rule.shared;
  const emulator::QueueClassConfig& own = use.queue.classes[use.cls];
  const emulator::PauseConfig* const pfc = use.pfc();
  return fmt::format(
      "Send through {} at {} with a buffer of {}{}; drop what finds no room. Its "
      "frames are in class {}: the highest priority is sent first (here {}), and "
      "classes of one priority share the link by their weights (here {}).{}",
      use.owner == rule.name ? std::string("a queue of several rules or classes")
                             : fmt::format("the queue of rule {}", use.owner),
      format_bit_rate(static_cast<double>(use.queue.rate_bps)), amount(use.queue.buffer_bytes),
      share_words(own.buffer), use.cls, own.order.priority, own.order.weight,
      pfc ? pause_words(*pfc) : "");
}

void words(Of<emulator::Queue> /*stage*/, const RuleConfig& rule, Statements& out) {
  out.push_back({"queue", rule.shared ? class_words(rule) : queue_words(*rule.queue)});
}

std::string jitter_words(const emulator::JitterConfig& jitter) {
  std::string text =
      fmt::format("Add a random delay to each frame: {}", emulator::describe(jitter.distribution));
  if (jitter.half_life)
    text += fmt::format("; delays of frames near each other are alike (half-life {})",
                        format_set_duration(*jitter.half_life));
  return text + ".";
}

void words(Of<emulator::Delay> /*stage*/, const RuleConfig& rule, Statements& out) {
  if (rule.delay)
    out.push_back(
        {"delay",
         fmt::format("Delay each frame by {}{}.", format_set_duration(*rule.delay),
                     rule.overtakes ? "; after a change of path, frames may overtake" : "")});
  if (rule.jitter) out.push_back({"jitter", jitter_words(*rule.jitter)});
  if (rule.varies() || !rule.keep_order)
    out.push_back({"order", rule.keep_order
                                ? "Keep the order: a frame waits for those that came before it."
                                : "Frames may overtake each other."});
}

void words(Of<emulator::Trace> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::TraceConfig& trace = *rule.trace;
  out.push_back(
      {"trace",
       fmt::format("Follow a trace of {} over {} that replaces delay, loss or rate; {}.",
                   plural(trace.rows.size(), "row", "rows"),
                   format_set_duration(trace.rows.back().time),
                   trace.period ? "it begins again every " + format_set_duration(*trace.period)
                                : std::string("the last row stays in force"))});
}

void words(Of<emulator::Reorder> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::ReorderConfig& reorder = *rule.reorder;
  std::string text = fmt::format("Reorder {} of the frames{}: ", percent(reorder.fraction),
                                 emulator::correlation_text(reorder.correlation));
  if (reorder.gap > 0) {
    text += "send each ahead, without the delay";
    if (reorder.gap > 1)
      text += fmt::format(", after at least {} that have it",
                          plural(reorder.gap - 1, "frame", "frames"));
  } else if (reorder.times) {
    text += "hold each back by a random time: " + emulator::describe(*reorder.times);
  } else if (reorder.frames == 0) {
    text += fmt::format("hold each back by {}", format_set_duration(reorder.by));
  } else {
    text += reorder.swap ? std::string("each changes places with the next")
                         : fmt::format("hold each back until {} passed it",
                                       plural(reorder.frames, "frame has", "frames have"));
    text += fmt::format(", for at most {}", format_set_duration(reorder.at_most));
  }
  out.push_back({"reorder", text + "."});
}

void words(Of<emulator::Accumulate> /*stage*/, const RuleConfig& rule, Statements& out) {
  const emulator::AccumulateConfig& accumulate = *rule.accumulate;
  out.push_back({"accumulate",
                 fmt::format("Hold frames until {} are there, or the first has waited {}; then all "
                             "leave together.",
                             accumulate.frames, format_set_duration(accumulate.time))});
}

template <class Config>
std::string_view direction_of(const Config& config) {
  using enum emulator::Direction;
  if (config.applies(west_to_east) && config.applies(east_to_west)) return "in both directions";
  return config.applies(west_to_east) ? "from west to east" : "from east to west";
}

std::string psn_words(const emulator::EventConfig& event) {
  switch (event.psn_from) {
    case emulator::PsnFrom::absolute:
      return fmt::format(" with PSN {}", event.psn);
    case emulator::PsnFrom::start:
      return fmt::format(" with the PSN {} after the first of its stream", event.psn);
    case emulator::PsnFrom::any:
      break;
  }
  return "";
}

std::string qp_words(const emulator::EventConfig& event) {
  if (event.qp) return fmt::format(" to QP number {} in order of appearance", *event.qp);
  return event.qpn ? fmt::format(" to QP {}", *event.qpn) : std::string(" to any QP");
}

std::string action_words(const emulator::EventConfig& event) {
  switch (event.action) {
    case emulator::EventAction::drop:
      return "drop it";
    case emulator::EventAction::mark:
      return "mark it with ECN CE";
    case emulator::EventAction::corrupt:
      return "corrupt it";
    case emulator::EventAction::duplicate:
      return "duplicate it";
    case emulator::EventAction::delay:
      break;
  }
  return fmt::format("delay it by {}", format_set_duration(event.delay));
}

}  // namespace

// The structured binding names every member, so a new condition without an explanation doesn't
// compile.
std::vector<Statement> explain_match(const emulator::MatchConfig& match) {
  const auto& [frames, source, destination, vlan, dscp, opcodes, kinds, dest_qp, psn, expression,
               tunnel] = match;
  Statements out = {{"frames", frames == emulator::MatchedFrames::rocev2
                                   ? "the frame is RoCEv2"
                                   : "any frame, RoCEv2 or not"}};
  const auto add = [&](std::string_view key, std::string_view what, const auto& texts) {
    if (!texts.empty()) out.push_back({key, fmt::format("{} {}", what, fmt::join(texts, " or "))});
  };
  add("source", "the IP source is", texts_of(source));
  add("destination", "the IP destination is", texts_of(destination));
  add("vlan", "the outer VLAN tag is", texts_of(vlan));
  add("dscp", "the DSCP is", texts_of(dscp));
  if (opcodes) add("opcode", "the opcode is", opcodes_of(match));
  if (kinds) add("kind", "the packet is of kind", kinds_of(match));
  add("dst_qp", "the destination QP is", texts_of(dest_qp));
  add("psn", "the PSN is", texts_of(psn));
  if (expression)
    out.push_back({"filter", fmt::format("the pcap filter \"{}\" holds", expression->text)});
  add("tunnel", "the packet is within a tunnel of kind", tunnels_of(match));
  if (tunnel) add("vni", "the tunnel's VNI is", texts_of(tunnel->vni));
  return out;
}

std::vector<Statement> explain_stages(const RuleConfig& rule) {
  Statements out;
  emulator::Stages::for_each([&]<class S>() {
    if (S::present(rule)) words(Of<S>{}, rule, out);
    if (const auto& when = rule.when.stage<S>())
      out.push_back(
          {"when", fmt::format("Stage {} acts {}; outside, frames pass as if the rule did "
                               "not have it.",
                               S::kName, text_of(*when))});
  });
  return out;
}

std::string explain_event(const emulator::EventConfig& event) {
  return fmt::format("When transmission {} of a packet of kind {}{}{} comes {}{}: {}.",
                     event.occurrence, name_of(event.on), psn_words(event), qp_words(event),
                     direction_of(event), event.from_now ? ", counted from now" : "",
                     action_words(event));
}

namespace {

std::string path_words(const emulator::Path& path) {
  using enum emulator::Direction;
  const auto one = [&](emulator::Direction way) {
    return fmt::format("{} one way ({:g} km of fibre {}, equipment {})",
                       format_set_duration(one_way_delay(path, way)), length_km(path, way),
                       format_set_duration(fibre_delay(path, way)),
                       format_set_duration(equipment_delay(path, way)));
  };
  const std::string round = format_set_duration(round_trip(path));
  if (symmetric(path))
    return fmt::format("The path {} takes {} and {} there and back.", path.name, one(west_to_east),
                       round);
  return fmt::format(
      "The path {} takes {} from west to east, {} from east to west, and {} there "
      "and back.",
      path.name, one(west_to_east), one(east_to_west), round);
}

std::string match_words(const emulator::MatchConfig& match) {
  std::vector<std::string> texts;
  for (Statement& statement : explain_match(match)) texts.push_back(std::move(statement.text));
  return fmt::format("{}", fmt::join(texts, ", and "));
}

std::string act_words(const config::Act& act) {
  std::string text =
      act.time ? "After " + format_set_duration(*act.time) : std::string("On command");
  if (act.ramp > 0)
    text += fmt::format(", over {} in {} equal steps", format_set_duration(act.over), act.ramp);
  std::vector<std::string> steps;
  for (const config::ScenarioStep& step : act.steps)
    steps.push_back(step.at.count() > 0
                        ? fmt::format("{} later: {}", format_set_duration(step.at), step_text(step))
                        : step_text(step));
  return fmt::format("{}: {}.", text, fmt::join(steps, "; "));
}

constexpr std::string_view kUnmatched =
    "Frames that no rule matches pass at once, in order and unchanged.";
constexpr std::string_view kFirstMatch =
    "The first rule that matches a frame decides about it; its stages act in this order.";

std::string rule_words(const RuleConfig& rule, std::size_t number) {
  std::string text = fmt::format("\nRule {}, {}, {}: if {}:\n", number, rule.name,
                                 direction_of(rule), match_words(rule.match));
  const Statements stages = explain_stages(rule);
  for (const Statement& stage : stages) text += fmt::format("  - {}\n", stage.text);
  if (stages.empty()) text += "  - Pass the frame at once.\n";
  return text;
}

}  // namespace

std::string explanation_text(const config::ImpairProfile& profile) {
  std::string text = fmt::format("Profile {}, random seed {}.\n", profile.name, profile.seed);
  if (profile.path) text += path_words(*profile.path) + "\n";
  if (!profile.rules.empty()) text += fmt::format("{}\n", kFirstMatch);
  std::size_t number = 0;
  for (const RuleConfig& rule : profile.rules) text += rule_words(rule, ++number);
  text += fmt::format("\n{}\n", kUnmatched);
  for (const auto& event : profile.events)
    text += fmt::format("\nEvent {}, before the rules: {}\n", event.name, explain_event(event));
  for (const auto& event : profile.events_on_command)
    text += fmt::format("\nEvent {}, on command: {}\n", event.name, explain_event(event));
  for (const auto& act : *profile.acts)
    text += fmt::format("\nScenario, {} {}: {}\n", act.kind, act.name, act_words(act));
  return text;
}

namespace {

/// A condition of a match, or a stage.
const FigureTable& condition_figures() {
  using Row = FigureOf<Statement>;
  static constexpr Figure kRows[] = {Row::of<&Statement::key>("key", "Key of the profile."),
                                     Row::of<&Statement::text>("text", "Condition.")};
  static constexpr FigureTable kTable{"A condition.", kRows};
  return kTable;
}

const FigureTable& stage_figures() {
  using Row = FigureOf<Statement>;
  static constexpr Figure kRows[] = {Row::of<&Statement::key>("stage", "Stage."),
                                     Row::of<&Statement::text>("text", "Sentence.")};
  static constexpr FigureTable kTable{"A stage.", kRows};
  return kTable;
}

const FigureTable& rule_figures() {
  using Row = FigureOf<RuleConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&RuleConfig::name>("name", "Name of the rule."),
      Row::of<[](const RuleConfig& rule) { return direction_of(rule); }>("direction",
                                                                         "Direction in words."),
      Row::list_with_table<[](const RuleConfig& rule) { return explain_match(rule.match); },
                           condition_figures>("match", "Conditions, all of which must hold."),
      Row::list_with_table<explain_stages, stage_figures>(
          "stages", "Stages in the order in which they act.")};
  static constexpr FigureTable kTable{"A rule.", kRows};
  return kTable;
}

struct ExplainedEvent {
  std::string name, text;

  static const FigureTable& figures() {
    using Row = FigureOf<ExplainedEvent>;
    static constexpr Figure kRows[] = {Row::of<&ExplainedEvent::name>("name", "Name."),
                                       Row::of<&ExplainedEvent::text>("text", "Sentence.")};
    static constexpr FigureTable kTable{"One of them.", kRows};
    return kTable;
  }
};

struct ExplainedAct : ExplainedEvent {
  std::string kind;

  static const FigureTable& figures() {
    using Row = FigureOf<ExplainedAct>;
    static constexpr Figure kRows[] = {
        Row::of<&ExplainedAct::kind>("kind", "at, protection or flap."),
        Row::of<&ExplainedAct::name>("name", "Name."),
        Row::of<&ExplainedAct::text>("text", "Sentence.")};
    static constexpr FigureTable kTable{"One of them.", kRows};
    return kTable;
  }
};

std::optional<std::string> path_sentence(const config::ImpairProfile& profile) {
  if (!profile.path) return std::nullopt;
  return path_words(*profile.path);
}

std::vector<ExplainedEvent> explained_events(const config::ImpairProfile& profile) {
  std::vector<ExplainedEvent> rows;
  for (const auto& event : profile.events) rows.push_back({event.name, explain_event(event)});
  for (const auto& event : profile.events_on_command)
    rows.push_back({event.name, "on command: " + explain_event(event)});
  return rows;
}

std::vector<ExplainedAct> explained_acts(const config::ImpairProfile& profile) {
  std::vector<ExplainedAct> rows;
  for (const auto& act : *profile.acts)
    rows.push_back({{act.name, act_words(act)}, std::string(act.kind)});
  return rows;
}

}  // namespace

const FigureTable& explanation_figures() {
  using Row = FigureOf<config::ImpairProfile>;
  static constexpr Figure kRows[] = {
      Row::of<&config::ImpairProfile::name>("profile", "Name of the profile."),
      Row::of<&config::ImpairProfile::seed>("seed", "Random seed."),
      Row::of<path_sentence>("path", "Sentence about the path; null without one.").or_null(),
      Row::list_with_table<&config::ImpairProfile::rules, rule_figures>("rules",
                                                                        "Rules in match order."),
      Row::of<[](const config::ImpairProfile&) { return kUnmatched; }>(
          "unmatched", "What happens to frames that no rule matches."),
      Row::of<explained_events>("events", "Events."),
      Row::of<explained_acts>("scenario", "Acts of the scenario.")};
  static constexpr FigureTable kTable{"A profile in words.", kRows};
  return kTable;
}

}  // namespace lw::impair

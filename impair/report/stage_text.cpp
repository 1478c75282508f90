// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/stage_text.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::impair {
namespace {

std::string share(double probability) { return fmt::format("{:.10g} %", probability * 100); }
std::string bytes(std::uint64_t count) { return format_bytes(static_cast<double>(count)); }

std::string text_of(const emulator::PoliceConfig& police) {
  return fmt::format("{}, bursts of {}, {} B a frame beside its own",
                     format_bit_rate(police.rate_bps), bytes(police.burst_bytes), police.overhead);
}

std::string text_of(const emulator::CorruptConfig& corrupt) {
  const bool packet = corrupt.part == emulator::CorruptConfig::Part::packet;
  std::string text =
      fmt::format("{} of the frames, {} bit{} of the {}", share(corrupt.probability), corrupt.bits,
                  corrupt.bits == 1 ? "" : "s", packet ? "packet" : "frame");
  if (corrupt.offset) text += fmt::format(" from byte {} on", *corrupt.offset);
  return text + (corrupt.recompute_icrc ? ", ICRC recomputed" : ", ICRC left wrong");
}

std::string text_of(const emulator::DuplicateConfig& duplicate) {
  return fmt::format("{} of the frames, {} cop{}", share(duplicate.probability), duplicate.copies,
                     duplicate.copies == 1 ? "y" : "ies");
}

std::string text_of(const emulator::MarkConfig& mark) {
  std::string text;
  if (mark.probability > 0) text = share(mark.probability) + " of the frames, ";
  if (mark.red) {
    text += fmt::format("RED by the queue, none up to {}, {} at {}, all above, ",
                        bytes(mark.red->kmin_bytes), share(mark.red->pmax),
                        bytes(mark.red->kmax_bytes));
    text += mark.not_ect == emulator::NotEct::drop ? "others dropped, " : "others passed, ";
  }
  return text + (mark.force ? "any IP frame" : "only what says ECT");
}

std::string text_of(const emulator::PauseConfig& pfc) {
  std::string text = fmt::format(", pauses of priority {}", pfc.priority);
  if (pfc.emit)
    text += fmt::format(" sent from {} on down to {}", bytes(pfc.emit->xoff_bytes),
                        bytes(pfc.emit->xon_bytes));
  if (pfc.honour) text += pfc.emit ? " and honoured" : " honoured";
  return text;
}

std::string text_of(const emulator::BottleneckConfig& queue) {
  return fmt::format("{}, buffer {}, {} B a frame beside its own{}",
                     format_bit_rate(queue.rate_bps), bytes(queue.buffer_bytes), queue.overhead,
                     queue.pfc ? text_of(*queue.pfc) : "");
}

std::string jitter_text(const emulator::RuleConfig& rule) {
  std::string text = describe(rule.jitter->distribution);
  if (rule.jitter->half_life)
    text += fmt::format(", half-life {}", format_duration(*rule.jitter->half_life));
  return text;
}

std::string text_of(const emulator::TraceConfig& trace) {
  const std::string again =
      trace.period ? fmt::format(", again every {}", format_duration(*trace.period)) : "";
  return fmt::format("{} rows over {}{}", trace.rows.size(),
                     format_duration(trace.rows.back().time), again);
}

std::string text_of(const emulator::ReorderConfig& reorder) {
  std::string text = share(reorder.fraction) + " of the frames ";
  if (reorder.frames == 0)
    return text + fmt::format("held back by {}", format_duration(reorder.by));
  text += reorder.swap ? "change places with the next"
                       : fmt::format("held back until {} more have gone on", reorder.frames);
  return text + fmt::format(", at most {}", format_duration(reorder.at_most));
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> stage_texts(
    const emulator::RuleConfig& rule) {
  std::vector<std::pair<std::string_view, std::string>> texts;
  const auto add = [&](std::string_view stage, const auto& config) {
    if (config) texts.emplace_back(stage, text_of(*config));
  };
  if (rule.outage) texts.emplace_back("outage", "the path is out: every frame is lost");
  add("police", rule.police);
  if (loses(rule.loss)) texts.emplace_back("loss", describe(rule.loss));
  add("corrupt", rule.corrupt);
  add("duplicate", rule.duplicate);
  add("mark", rule.mark);
  add("queue", rule.queue);
  if (rule.delay) texts.emplace_back("delay", format_duration(*rule.delay));
  if (rule.jitter) texts.emplace_back("jitter", jitter_text(rule));
  add("trace", rule.trace);
  if (rule.varies() || !rule.keep_order)
    texts.emplace_back("order", rule.keep_order ? "kept" : "free");
  add("reorder", rule.reorder);
  return texts;
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/live_verdict.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "config/flow/questions.h"
#include "core/quantity.h"
#include "gen/report/run_verdict.h"

namespace lw::gen {
namespace {

/// A share of the frames.
void observe_share(Judge& judge, const char* name, std::uint64_t part, std::uint64_t all,
                   const char* what, bool noted) {
  judge.add(
      {.name = name,
       .value = static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, all)),
       .text = part == 0 ? fmt::format("no frame of {} {}", format_count(all), what)
                         : fmt::format("{} of {} frames {} ({})", format_count(part),
                                       format_count(all), what, format_share(part, all)),
       .count = all,
       .noted = noted});
}

/// Frames that never came: gaps in the sequence; at the end, all that were sent and did not come.
std::uint64_t lost_of(const RunSoFar& run, std::uint64_t came) {
  const bool counted = run.ended && run.all.is_sent;
  return counted ? std::max(run.all.lost, run.all.sent_frames - std::min(run.all.sent_frames, came))
                 : run.all.lost;
}

void observe_received(Judge& judge, const RunSoFar& run) {
  const FlowProgress& all = run.all;
  const std::uint64_t came = all.received_frames - std::min(all.received_frames, all.duplicated);
  const std::uint64_t lost = lost_of(run, came);
  observe_share(judge, "loss", lost, came + lost, "never came", !run.knows_sender);
  observe_share(judge, "duplicated", all.duplicated, all.received_frames, "came again", false);
  observe_share(judge, "out_of_order", all.out_of_order, all.received_frames,
                "came after a later one", false);
  observe_share(judge, "bad_icrc", all.bad_icrc, all.received_frames + all.bad_icrc,
                "had a wrong ICRC", false);
}

}  // namespace

Verdict verdict_of(const RunSoFar& run) {
  Judge judge(config::kRunQuestions, {});
  Machine machine{.losses = run.losses, .stalls = {}, .elapsed = run.elapsed};
  if (run.all.is_sent) {
    machine.losses.push_back({.place = "the ports",
                              .how = "when they were to leave",
                              .lost = run.all.not_sent,
                              .frames = run.all.sent_frames + run.all.not_sent});
    if (run.elapsed.count() > 0 && run.all.sent_frames > 0)
      judge.add(rate_observation(run.pacing.behind, run.elapsed, run.all.sent_frames));
  }
  observe(judge, machine, "this machine");
  if (run.all.is_received) observe_received(judge, run);
  Verdict verdict;
  const Verdict all = judge.finish();
  for (const Judgement& each : all.all())
    if (each.name != "stall") verdict.add(each);  // known at the end
  return verdict;
}

}  // namespace lw::gen

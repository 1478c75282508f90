// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/answer.h"

namespace lw::impair {

Answer refusal(const Error& error) {
  return {.ok = false, .error = error.message, .exit = static_cast<unsigned>(to_int(error.exit))};
}

const FigureTable& Answer::figures() {
  using Row = FigureOf<Answer>;
  static constexpr Figure kRows[] = {
      Row::of<&Answer::ok>("ok", "True if the request was carried out."),
      Row::of<&Answer::error>("error", "Reason of a refusal.").if_any(),
      Row::of<&Answer::exit>("exit", "Exit code that `ctl` then has."),
      Row::of<&Answer::rules>("rules", "Rules in force."),
      Row::of<&Answer::events>("events", "Events of the profile; only `show`."),
      Row::of<&Answer::events_on_command>(
          "events_on_command", "Events of the profile that wait for a command; only `show`."),
      Row::of<&Answer::scenario>("scenario", "Acts of the scenario; only `show`."),
      Row::of<&Answer::report>("report", "Report so far; only `show`."),
      Row::of<&Answer::verdict>("verdict",
                                "What was asked of the run, and whether it holds so far; only "
                                "`show`.")
          .if_any(),
      Row::of<&Answer::records>("records",
                                "Newest records of the ledger, the oldest first; only `records`."),
      Row::of<&Answer::capture>("capture", "The recording that ended; only `stop-recording`."),
      Row::of<&Answer::text>("text", "The answer as text.")};
  static constexpr FigureTable kTable{"Answer of a run to a request on its control socket.", kRows};
  return kTable;
}

}  // namespace lw::impair

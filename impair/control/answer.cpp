// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/answer.h"

#include <functional>

namespace lw::impair {
namespace {

constexpr Figure kAnswerHead[] = {
    FigureOf<Answer>::of<&Answer::ok>("ok", "True if the request was carried out."),
    FigureOf<Answer>::of<&Answer::error>("error", "Reason of a refusal.").if_any(),
    FigureOf<Answer>::of<&Answer::exit>("exit", "Exit code that `ctl` then has.")
        .from(to_int(ExitCode::done), to_int(ExitCode::environment)),
    FigureOf<Answer>::of<&Answer::text>("text", "The answer as text.")};

}  // namespace

Answer refusal(const Error& error) {
  return {.ok = false, .error = error.message, .exit = static_cast<unsigned>(to_int(error.exit))};
}

const FigureTable& Answer::head() {
  static constexpr FigureTable kTable{"What a client reads of an answer.", kAnswerHead};
  return kTable;
}

const FigureTable& Answer::figures() {
  using Row = FigureOf<Answer>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, Answer::head>(),
      Row::of<&Answer::change>(
          "change",
          "Number of this change among those of the run in the order in which they took effect: "
          "changes and commands of clients, and steps. The rules are those after it. Of other "
          "requests: number of the last change before it."),
      Row::of<&Answer::rules>("rules", "Rules in force."),
      Row::of<&Answer::room>("room", "Memory that the change needed, or of `preview` would need."),
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
      Row::of<&Answer::capture>("capture", "The recording that ended; only `stop-recording`.")};
  static constexpr FigureTable kTable{"Answer of a run to a request on its control socket.", kRows};
  return kTable;
}

}  // namespace lw::impair

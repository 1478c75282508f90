// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/run_messages.h"

namespace lw::gen {
namespace {

/// Makes the row of an exit code.
template <class Message>
constexpr Figure exit_row() {
  return FigureOf<Message>::template of<&Message::exit>("exit", "Exit code.")
      .from(to_int(ExitCode::done), to_int(ExitCode::environment));
}

}  // namespace

const FigureTable& RankSelf::figures() {
  using Row = FigureOf<RankSelf>;
  static constexpr Figure kRows[] = {
      Row::of<&RankSelf::machine>("machine", "Name of its machine."),
      Row::of<&RankSelf::address>("address", "Address of perf's endpoint."),
      Row::of<&RankSelf::ports>("ports", "Its --port."),
      Row::of<&RankSelf::receive>("receive", "Its --receive.")};
  static constexpr FigureTable kTable{"A rank.", kRows};
  return kTable;
}

const FigureTable& Introduction::figures() {
  using Row = FigureOf<Introduction>;
  static constexpr Figure kRows[] = {
      Row::rows_of<&Introduction::self>(),
      Row::of<&Introduction::identity>("profile_id", "Of its profile and program."),
      Row::of<&Introduction::error>("error", "Why it can't take part; empty: it can."),
      exit_row<Introduction>()};
  static constexpr FigureTable kTable{"What a rank says of itself.", kRows};
  return kTable;
}

const FigureTable& RunPlan::figures() {
  using Row = FigureOf<RunPlan>;
  static constexpr Figure kRows[] = {Row::of<&RunPlan::ranks>("ranks", "The ranks, in order.")};
  static constexpr FigureTable kTable{"All ranks of a run.", kRows};
  return kTable;
}

const FigureTable& RunEnd::figures() {
  using Row = FigureOf<RunEnd>;
  static constexpr Figure kRows[] = {Row::of<&RunEnd::reason>("reason", "Why."),
                                     exit_row<RunEnd>()};
  static constexpr FigureTable kTable{"The end of a run.", kRows};
  return kTable;
}

const FigureTable& RunStart::figures() {
  using Row = FigureOf<RunStart>;
  static constexpr Figure kRows[] = {
      Row::of<&RunStart::at>("at", "When, by the clock that all share.", Unit::ns),
      Row::of<&RunStart::run>("run", "Number of the run, in the signatures."),
      Row::of<&RunStart::corrects>("corrects", "True if the rank corrects its clock."),
      Row::of<&RunStart::ahead>("ahead", "By what rank 0's clock is ahead.", Unit::ns),
      Row::of<&RunStart::clock>("clock", "Id of rank 0's clock."),
      Row::of<&RunStart::name>("name", "Its name.")};
  static constexpr FigureTable kTable{"The start of a run.", kRows};
  return kTable;
}

const FigureTable& RankSent::figures() {
  using Row = FigureOf<RankSent>;
  static constexpr Figure kRows[] = {
      Row::of<&RankSent::frames>("frames", "Frames that it sent.", Unit::frames),
      Row::of<&RankSent::failure>("failure", "Why it ended early; empty: it did not.")};
  static constexpr FigureTable kTable{"What a rank has sent.", kRows};
  return kTable;
}

const FigureTable& ClockReading::figures() {
  using Row = FigureOf<ClockReading>;
  static constexpr Figure kRows[] = {Row::of<&ClockReading::ns>("clock_ns", "The time.", Unit::ns)};
  static constexpr FigureTable kTable{"A rank's clock.", kRows};
  return kTable;
}

const FigureTable& RankResults::figures() {
  using Row = FigureOf<RankResults>;
  static constexpr Figure kRows[] = {
      Row::of<&RankResults::text>("text", "The results; empty: it has none.")};
  static constexpr FigureTable kTable{"What a rank reports.", kRows};
  return kTable;
}

}  // namespace lw::gen

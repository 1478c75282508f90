// SPDX-License-Identifier: BSD-3-Clause
#include "core/machine.h"

namespace lw {

void Machine::add(const Machine& other) {
  losses.insert(losses.end(), other.losses.begin(), other.losses.end());
  stalls.add(other.stalls);
  elapsed = std::max(elapsed, other.elapsed);
}

Machine of_host(Machine machine, const std::string& host) {
  for (OwnLoss& loss : machine.losses) loss.place += " of " + host;
  machine.stalls.watched = true;
  return machine;
}

std::uint64_t Machine::lost() const noexcept {
  std::uint64_t lost = 0;
  for (const OwnLoss& loss : losses) lost += loss.lost;
  return lost;
}

double Machine::share() const noexcept {
  double most = 0;
  for (const OwnLoss& loss : losses) most = std::max(most, loss.share());
  return most;
}

double Machine::stalled_share() const noexcept {
  return elapsed.count() <= 0 ? 0
                              : std::min(1.0, static_cast<double>(stalls.total.count()) /
                                                  static_cast<double>(elapsed.count()));
}

const FigureTable& OwnLoss::figures() {
  using Row = FigureOf<OwnLoss>;
  static constexpr Figure kRows[] = {
      Row::of<&OwnLoss::place>("place", "Where they were lost: a port, a pool."),
      Row::of<&OwnLoss::how>("how", "How they were lost."),
      Row::of<&OwnLoss::lost>("lost", "Frames lost.", Unit::frames),
      Row::of<&OwnLoss::frames>("frames", "Frames that came there, lost ones included.",
                                Unit::frames),
      Row::of<&OwnLoss::share>("share", "Share that was lost."),
      Row::of<&OwnLoss::first>("first_ns", "Begin of the losses, since the start.", Unit::ns),
      Row::of<&OwnLoss::last>("last_ns", "End of the losses, since the start.", Unit::ns),
      Row::of<&OwnLoss::remedy>("remedy", "What helps against them.").if_any()};
  static constexpr FigureTable kTable{"Frames that this machine lost in one place.", kRows};
  return kTable;
}

const FigureTable& Machine::figures() {
  using Row = FigureOf<Machine>;
  static constexpr Figure kRows[] = {
      Row::of<&Machine::lost>("lost", "Frames that this machine lost.", Unit::frames),
      Row::of<&Machine::share>("share", "Share in the place that lost most."),
      Row::of<&Machine::losses>("losses", "The places that may lose frames."),
      Row::of<through<&Machine::stalls, &Stalls::count>>(
          "stalls", "Times that a thread of ours stood still for 1 ms or longer."),
      Row::of<through<&Machine::stalls, &Stalls::total>>("stalled_ns", "Their sum.", Unit::ns),
      Row::of<&Machine::stalled_share>("stalled_share", "Their share of the run."),
      Row::of<through<&Machine::stalls, &Stalls::longest>>("longest_stall_ns", "The longest.",
                                                           Unit::ns),
      Row::of<through<&Machine::stalls, &Stalls::longest_at>>(
          "longest_stall_at_ns", "Its begin, since the start.", Unit::ns),
      Row::of<&Machine::elapsed>("elapsed_ns", "Length of the run.", Unit::ns)};
  static constexpr FigureTable kTable{
      "What this machine lost and delayed itself: no effect of the path.", kRows};
  return kTable;
}

}  // namespace lw

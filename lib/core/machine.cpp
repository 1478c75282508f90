// SPDX-License-Identifier: BSD-3-Clause
#include "core/machine.h"

#include <functional>

#include "core/quantity.h"

namespace lw {

void Stalls::add(const Stalls& other) noexcept {
  count += other.count;
  total += other.total;
  if (other.longest <= longest) return;
  longest = other.longest;
  longest_at = other.longest_at;
}

void StallWatch::note(Instant now) noexcept {
  const Duration gap = now - last_;
  ++stalls_.count;
  stalls_.total += gap;
  if (gap <= stalls_.longest) return;
  stalls_.longest = gap;
  stalls_.longest_at = last_ - start_;
}

void Machine::add(const Machine& other) {
  losses.insert(losses.end(), other.losses.begin(), other.losses.end());
  stalls.add(other.stalls);
  elapsed = std::max(elapsed, other.elapsed);
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

namespace {

std::string text_of(const OwnLoss& loss) {
  return format_count(loss.lost) + " of " + format_count(loss.frames) + " frames (" +
         format_share(loss.share()) + ") at " + loss.place + " " + loss.how;
}

std::string moment_of(const OwnLoss& loss) {
  if (!loss.first || !loss.last) return {};
  return "between " + format_duration(*loss.first) + " and " + format_duration(*loss.last) +
         " after the start";
}

Observation losses_of(const Machine& machine, std::string_view who) {
  std::vector<const OwnLoss*> worst;
  std::uint64_t frames = 0;
  for (const OwnLoss& loss : machine.losses) {
    frames += loss.frames;
    if (loss.lost > 0) worst.push_back(&loss);
  }
  std::ranges::stable_sort(worst, std::greater{}, &OwnLoss::share);
  Observation seen{.name = "machine", .value = machine.share(), .count = frames};
  if (worst.empty()) {
    seen.text = std::string(who) + " lost none of " + format_count(frames) + " frames";
    return seen;
  }
  for (const OwnLoss* loss : worst)
    seen.text += (seen.text.empty() ? std::string(who) + " lost " : "; and ") + text_of(*loss);
  seen.remark = moment_of(*worst.front());
  if (seen.remark.empty()) seen.remark = "it is no effect of the path";
  seen.remedy = worst.front()->remedy;
  return seen;
}

}  // namespace

void observe(Judge& judge, const Machine& machine, std::string_view who,
             std::optional<double> asked_loss) {
  Observation losses = losses_of(machine, who);
  constexpr double kTenth = 0.1;
  const double most = asked_loss && *asked_loss > 0 ? std::min(kMostOwnLoss, *asked_loss * kTenth)
                                                    : kMostOwnLoss;
  if (most < kMostOwnLoss) losses.limit = "<= " + format_share(most);
  if (machine.share() > most)
    losses.broken = "its results are those of an overloaded " +
                    std::string(who.substr(who.find(' ') + 1)) +
                    (machine.lost() > 0 && !losses.remark.empty() ? ", " + losses.remark : "");
  if (!machine.losses.empty()) judge.add(losses);
  const Stalls& stalls = machine.stalls;
  Observation still{.name = "stall",
                    .value = static_cast<double>(stalls.longest.count()),
                    .text = std::string(who) + " stood still for " +
                            format_duration(stalls.longest) + " at most",
                    .count = stalls.count};
  if (stalls.longest >= Stalls::kShortest)
    still.broken = format_duration(stalls.longest_at) + " after the start; " +
                   format_duration(stalls.total) + " in all, " +
                   format_share(machine.stalled_share()) +
                   " of the run: what came meanwhile was late or lost here, not on the path";
  still.remedy = "give its threads cores of their own";
  judge.add(still);
}

std::vector<Expectation> strict_machine(std::span<const Question> questions) {
  std::vector<Expectation> strict;
  for (const auto& [name, limit] : {std::pair("machine", "== 0%"), std::pair("stall", "<= 100ms")})
    if (find_question(questions, name) != nullptr) {
      strict.push_back(parse_expectation(std::string(name) + " " + limit).value());
      strict.back().place = "--strict-machine";
    }
  return strict;
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
      Row::of<&OwnLoss::last>("last_ns", "End of the losses, since the start.", Unit::ns)};
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
          "longest_stall_at_ns", "Its begin, since the start.", Unit::ns)};
  static constexpr FigureTable kTable{
      "What this machine lost and delayed itself: no effect of the path.", kRows};
  return kTable;
}

}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#include "core/machine_questions.h"

#include <algorithm>
#include <functional>
#include <string>

#include "core/quantity.h"

namespace lw {
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
  std::uint64_t frames = 0;  // a frame comes to several places
  for (const OwnLoss& loss : machine.losses) {
    frames = std::max(frames, loss.frames);
    if (loss.lost > 0) worst.push_back(&loss);
  }
  std::ranges::stable_sort(worst, std::greater{}, &OwnLoss::share);
  Observation seen{.name = "machine", .value = machine.share(), .count = frames};
  if (worst.empty()) {
    seen.text = std::string(who) + " lost no frame";
    return seen;
  }
  for (const OwnLoss* loss : worst)
    seen.text += (seen.text.empty() ? std::string(who) + " lost " : "; and ") + text_of(*loss);
  seen.remark = moment_of(*worst.front());
  seen.remedy = worst.front()->remedy;
  return seen;
}

}  // namespace

void observe(Judge& judge, const Machine& machine, std::string_view who,
             std::optional<double> asked_loss) {
  Observation losses = losses_of(machine, who);
  constexpr double kTenth = 0.1;
  const double most =
      asked_loss && *asked_loss > 0 ? std::min(kMostOwnLoss, *asked_loss * kTenth) : kMostOwnLoss;
  if (most < kMostOwnLoss) losses.limit = "<= " + format_share(most);
  losses.broken = "its results are those of an overloaded ";
  losses.broken.append(who.substr(who.find(' ') + 1));
  if (!losses.remark.empty()) losses.broken += ", " + losses.remark;
  if (losses.remark.empty() && machine.lost() > 0) losses.remark = "it is no effect of the path";
  if (!machine.losses.empty()) judge.add(losses);
  const Stalls& stalls = machine.stalls;
  if (!stalls.watched) return;
  Observation still{.name = "stall",
                    .value = static_cast<double>(stalls.longest.count()),
                    .text = std::string(who) + " never stood still",
                    .count = stalls.count};
  if (stalls.longest >= Stalls::kShortest) {
    still.text =
        std::string(who) + " stood still for " + format_duration(stalls.longest) + " at most";
    still.broken = format_duration(stalls.longest_at) + " after the start; " +
                   format_duration(stalls.total) + " in all, " +
                   format_share(machine.stalled_share()) +
                   " of the run: what came meanwhile was late or lost here, not on the path";
  }
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

}  // namespace lw

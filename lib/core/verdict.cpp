// SPDX-License-Identifier: BSD-3-Clause
#include "core/verdict.h"

#include <algorithm>
#include <array>
#include <functional>

namespace lw {

std::string_view name_of(Holds holds) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"holds", "cannot tell", "does not hold"};
  return kNames[static_cast<std::size_t>(holds)];
}

std::string_view name_of(Colour colour) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"green", "amber", "red"};
  return kNames[static_cast<std::size_t>(colour)];
}

Colour Judgement::colour() const noexcept {
  if (holds == Holds::no) return Colour::red;
  if (holds == Holds::unknown) return asked_by.empty() ? Colour::amber : Colour::red;
  return reason.empty() ? Colour::green : Colour::amber;
}

std::string Judgement::sentence() const {
  std::string text(colour() == Colour::amber && holds == Holds::yes ? "note" : name_of(holds));
  text += ": ";
  if (!of.empty()) text += of + ": ";
  text += observed;
  if (!asked_by.empty()) text += "; asked: " + asked + " (" + asked_by + ")";
  if (!reason.empty()) text += ": " + reason;
  return text;
}

const FigureTable& Judgement::figures() {
  static constexpr std::string_view kHolds[] = {"holds", "cannot tell", "does not hold"};
  static constexpr std::string_view kColours[] = {"green", "amber", "red"};
  using Row = FigureOf<Judgement>;
  static constexpr Figure kRows[] = {
      Row::of<&Judgement::name>("name", "Name of what was asked, or path of a figure."),
      Row::of<&Judgement::of>("of", "What it is of: a flow, a direction, a port, a file.").if_any(),
      Row::of<&Judgement::asked>("asked", "What was asked."),
      Row::of<&Judgement::asked_by>("asked_by",
                                    "Who asked: an option, a place in a profile; absent if the "
                                    "command implies it.")
          .if_any(),
      Row::of<&Judgement::observed>("observed", "What was observed, as a sentence."),
      Row::of<&Judgement::where>("where", "Who observed it.").if_any(),
      Row::of<&Judgement::holds>("result", "Whether it holds.").among(kHolds),
      Row::of<&Judgement::colour>("colour", "Red gives an exit code above 0.").among(kColours),
      Row::of<&Judgement::reason>("reason",
                                  "Why the answer is unknown, or what to know about what holds.")
          .if_any(),
      Row::of<&Judgement::remedy>("remedy", "What to do if it does not hold.").if_any(),
      Row::of<&Judgement::measured>("measured", "The figure that was judged.").or_null(),
      Row::of<&Judgement::observations>(
          "observations", "Number of frames, samples or checks that the statement rests on.")};
  static constexpr FigureTable kTable{"A statement about the result, judged.", kRows};
  return kTable;
}

void Verdict::add(const Verdict& other) {
  all_.insert(all_.end(), other.all_.begin(), other.all_.end());
}

void Verdict::replace(const Verdict& others) {
  for (const Judgement& other : others.all_) {
    const auto found = std::ranges::find(all_, other.name, &Judgement::name);
    if (found != all_.end()) *found = other;
  }
}

Colour Verdict::colour() const noexcept {
  Colour worst = Colour::green;
  for (const Judgement& each : all_) worst = std::max(worst, each.colour());
  return worst;
}

ExitCode Verdict::exit() const noexcept {
  ExitCode worst = ExitCode::done;
  for (const Judgement& each : all_) worst = std::max(worst, each.exit());
  return worst;
}

Holds Verdict::holds() const noexcept {
  const auto worst = remarkable();
  return worst.empty() ? Holds::yes : worst.front()->holds;
}

std::vector<const Judgement*> Verdict::remarkable() const {
  std::vector<const Judgement*> worst;
  for (const Judgement& each : all_)
    if (each.colour() != Colour::green) worst.push_back(&each);
  std::ranges::stable_sort(worst, std::greater{}, &Judgement::colour);
  return worst;
}

std::string Verdict::headline() const {
  const auto worst = remarkable();
  if (!worst.empty()) return worst.front()->sentence();
  const std::size_t count = all_.size();
  return "holds: " + std::to_string(count) + (count == 1 ? " statement" : " statements");
}

const FigureTable& Verdict::figures() {
  static constexpr std::string_view kHolds[] = {"holds", "cannot tell", "does not hold"};
  static constexpr std::string_view kColours[] = {"green", "amber", "red"};
  using Row = FigureOf<Verdict>;
  static constexpr Figure kRows[] = {
      Row::of<&Verdict::holds>("result", "Whether the worst statement holds.").among(kHolds),
      Row::of<&Verdict::colour>("colour", "Colour of the worst statement.").among(kColours),
      Row::of<[](const Verdict& verdict) { return to_int(verdict.exit()); }>(
          "exit", "Exit code of the statements."),
      Row::of<&Verdict::headline>("headline", "The worst statement, as a sentence."),
      Row::of<&Verdict::all>("statements", "All statements.")};
  static constexpr FigureTable kTable{"What was asked of the result, and whether it holds.", kRows};
  return kTable;
}

}  // namespace lw

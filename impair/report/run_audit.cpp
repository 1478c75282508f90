// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/run_audit.h"

#include <algorithm>
#include <cmath>

#include "core/figure.h"

namespace lw::impair {

using emulator::Check;
using emulator::CheckUnit;

namespace {

/// What a check's figures are the mean of; 0: they are not a mean.
double weight_of(const Check& check) noexcept {
  if (check.unit == CheckUnit::chi_square) return 1;
  if (check.unit == CheckUnit::share) return static_cast<double>(check.frames);
  return check.weight;
}

/// The figure as what adds up: a rate's bits take a time.
double term(double figure, const Check& check) noexcept {
  return check.unit == CheckUnit::bits_per_second ? 1 / figure : figure;
}

/// A chi-square in place of that of `check`.
Check bound_of(const Check& check, double freedom, double seen) {
  return emulator::chi_square_of(check.stage, check.what, check.frames, freedom, seen);
}

/// Returns what the accounts of a direction say of the bytes that left, and how early they left.
std::vector<Check> checks_of_what_left(const DirectionReport& direction) {
  const emulator::Account& account = direction.accounting.direction;
  std::vector<Check> checks;
  const auto bytes = [](const emulator::Amount& amount) {
    return static_cast<double>(amount.bytes);
  };
  const double out = bytes(account.received) + bytes(account.created) - bytes(account.consumed) -
                     bytes(account.dropped_by_rule) - bytes(account.wanting()) -
                     bytes(account.in_flight);
  checks.push_back({emulator::Stage::none, "bytes out", account.sent.frames, out,
                    bytes(account.sent), out, out, CheckUnit::bytes});
  if (direction.release_error.count > 0) {
    const auto earliest = static_cast<double>(direction.release_error.minimum);
    const auto latest = static_cast<double>(direction.release_error.maximum);
    checks.push_back({emulator::Stage::delay, "least delay error", direction.release_error.count, 0,
                      earliest, 0, std::max(latest, 0.0), CheckUnit::nanoseconds});
  }
  return checks;
}

}  // namespace

bool CheckSum::has_sum(const Check& check) noexcept { return weight_of(check) > 0; }

void CheckSum::add(const Check& check) noexcept {
  if (weight_ == 0) first_ = check;
  const double weight = weight_of(check);
  const double asked = term(check.asked, check);
  const double distance =
      std::max(std::abs(term(check.high, check) - asked), std::abs(asked - term(check.low, check)));
  if (check.unit == CheckUnit::chi_square)
    wider_ = std::max(wider_, check.high / bound_of(check, check.asked, check.seen).high);
  weight_ += weight;
  distances_ += weight * distance;
  asked_ += weight * asked;
  seen_ += weight * term(check.seen, check);
  if (check.enough()) {
    squares_ += weight * distance * weight * distance;
  } else {
    unknown_ += weight * distance;
  }
  frames_ += check.frames;
}

Check CheckSum::sum() const noexcept {
  Check sum = first_;
  sum.frames = frames_;
  sum.weight = weight_;
  if (sum.unit == CheckUnit::chi_square) {
    sum = bound_of(sum, asked_, seen_);
    sum.high *= wider_;
    return sum;
  }
  const bool rounds = sum.unit == CheckUnit::bits_per_second;
  const double asked = asked_ / weight_;
  const double distance = (rounds ? distances_ : std::sqrt(squares_) + unknown_) / weight_;
  sum.asked = term(asked, sum);
  sum.seen = term(seen_ / weight_, sum);
  const double one_end = term(asked - distance, sum), other = term(asked + distance, sum);
  sum.low = std::min(one_end, other);
  sum.high = std::max(one_end, other);
  if (sum.unit == CheckUnit::share) {
    constexpr double kRounding = 1e-9;  // of the sums
    sum.low = std::max(sum.low - kRounding, 0.0);
    sum.high = std::min(sum.high + kRounding, 1.0);
  }
  return sum;
}

void RunAudits::Sums::add(std::span<const Check> more) {
  ++configurations;
  for (const Check& check : more)
    if (CheckSum::has_sum(check)) checks[{check.stage, check.what}].add(check);
}

void RunAudits::add(emulator::Direction direction, const std::string& rule,
                    std::span<const Check> checks) {
  rules_[{std::string(name_of(direction)), rule}].add(checks);
}

std::vector<RunAudit> RunAudits::with(std::span<const DirectionReport> directions) const {
  std::vector<RunAudit> audits;
  if (rules_.empty()) return audits;
  for (const DirectionReport& direction : directions) {
    const std::string& name = direction.accounting.direction.name;
    audits.push_back({name, "", 0, checks_of_what_left(direction)});
    for (const auto& [place, ended] : rules_) {
      if (place.first != name) continue;
      Sums sums = ended;
      const auto now = std::ranges::find(direction.stages, place.second, &StagesReport::rule);
      if (now != direction.stages.end()) sums.add(now->checks);
      RunAudit& audit = audits.emplace_back(name, place.second, sums.configurations);
      for (const auto& [key, sum] : sums.checks) audit.checks.push_back(sum.sum());
    }
  }
  return audits;
}

const FigureTable& RunAudit::figures() {
  using Row = FigureOf<RunAudit>;
  static constexpr Figure kRows[] = {
      Row::of<&RunAudit::direction>("direction", "west-to-east or east-to-west."),
      Row::of<&RunAudit::rule>("rule", "Name of the rule; empty for the direction."),
      Row::of<&RunAudit::configurations>("configurations",
                                         "Configurations of the rule that had frames; 0 for the "
                                         "direction."),
      Row::of<&RunAudit::checks>("checks", "Asked and seen over all of them.")};
  static constexpr FigureTable kTable{"A rule that changed, over the whole run.", kRows};
  return kTable;
}

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/pair_choice.h"

#include <algorithm>

#include "analysis/assignment.h"

namespace lw::analysis {
namespace {

// Costs: of a pair that nothing allows, of a contradiction, and of unlike source ports. The times
// to the answers cost about 1.
constexpr double kNoPair = 1e12, kContradiction = 1e4, kUnlikePorts = 1e2;

std::size_t index_in(std::vector<std::uint32_t>& flows, std::uint32_t flow) {
  const auto known = std::ranges::find(flows, flow);
  const auto index = static_cast<std::size_t>(known - flows.begin());
  if (known == flows.end()) flows.push_back(flow);
  return index;
}

}  // namespace

/// The row or column of a flow. Between two QPs of one host, it is where it was first.
PairChoice::Place PairChoice::place_of(std::uint32_t flow) {
  if (std::ranges::find(columns_, flow) != columns_.end())
    return std::pair{false, index_in(columns_, flow)};
  const bool row = rows_.empty() || flows_[flow].key.source == flows_[rows_.front()].key.source;
  return std::pair{row, index_in(row ? rows_ : columns_, flow)};
}

void PairChoice::add(std::uint32_t responses, const QpFlow::Candidate& candidate) {
  answers_[responses] = true;
  const Place one = place_of(responses);
  if (one->first && std::ranges::find(rows_, candidate.flow) == rows_.end())
    index_in(columns_, candidate.flow);
  const Place other = place_of(candidate.flow);
  if (one->first == other->first) return;
  Fit& fit = fits_[one->first ? std::pair{one->second, other->second}
                              : std::pair{other->second, one->second}];
  fit.answers += candidate.evidence.answers();
  fit.contradictions += candidate.evidence.contradictions();
  fit.fitting += candidate.evidence.fitting();
  fit.impossible += candidate.evidence.impossible();
  fit.squares += candidate.evidence.mean_square();
  ++fit.directions;
}

std::vector<std::uint32_t> PairChoice::flows() const {
  std::vector<std::uint32_t> all = rows_;
  all.insert(all.end(), columns_.begin(), columns_.end());
  return all;
}

/// Null: the responses of one flow do not fit the requests of the other.
const PairChoice::Fit* PairChoice::fit_of(std::size_t row, std::size_t column) const {
  const auto fit = fits_.find({row, column});
  if (fit == fits_.end()) return nullptr;
  const int answering = static_cast<int>(answers_.contains(rows_[row])) +
                        static_cast<int>(answers_.contains(columns_[column]));
  return fit->second.directions == answering ? &fit->second : nullptr;
}

/// Whether a row and a column have the same UDP source port, and no other candidates of theirs do.
bool PairChoice::has_one_port(std::size_t row, std::size_t column) const {
  const auto same = [&](std::size_t r, std::size_t c) {
    return fit_of(r, c) != nullptr &&
           flows_[rows_[r]].source_port == flows_[columns_[c]].source_port;
  };
  if (!same(row, column)) return false;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (c != column && same(row, c)) return false;
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (r != row && same(r, column)) return false;
  return true;
}

double PairChoice::contradictions_of(std::size_t row, std::size_t column) const {
  const Fit* const fit = column < columns_.size() ? fit_of(row, column) : nullptr;
  return fit != nullptr ? fit->contradictions : kNoPair;
}

double PairChoice::cost_of(std::size_t row, std::size_t column, double scale) const {
  const Fit* const fit = fit_of(row, column);
  if (fit == nullptr) return kNoPair;
  return kContradiction * fit->contradictions + fit->squares / scale +
         (has_one_port(row, column) ? 0 : kUnlikePorts);
}

bool PairChoice::has_rival(std::size_t row, std::size_t column) const {
  return std::ranges::any_of(fits_, [&](const auto& one) {
    const auto& [r, c] = one.first;
    return (r == row) != (c == column);
  });
}

/// Whether many responses of a pair are impossible, though one of the flows fits others.
bool PairChoice::is_contradicted(std::size_t row, std::size_t column) const {
  constexpr std::uint32_t kEnough = 2, kShare = 4;
  const Fit& fit = *fit_of(row, column);
  return fit.impossible >= kEnough && kShare * fit.impossible >= fit.answers &&
         has_rival(row, column);
}

/// Whether enough responses fit a pair to tell it from others.
bool PairChoice::fits_enough(std::size_t row, std::size_t column) const {
  constexpr std::uint32_t kEnough = 2;
  return fit_of(row, column)->fitting >= (has_rival(row, column) ? kEnough : 1);
}

/// Whether each exchange of this row's column for another one adds contradictions.
bool PairChoice::is_shown(std::size_t row, const std::vector<std::size_t>& column_of) const {
  constexpr double kEnough = 2;
  const std::size_t column = column_of[row];
  for (std::size_t other = 0; other < columns_.size(); ++other) {
    if (other == column || fit_of(row, other) == nullptr) continue;
    const auto owner = std::ranges::find(column_of, other);
    double more = contradictions_of(row, other) - contradictions_of(row, column);
    if (owner != column_of.end()) {
      const auto at = static_cast<std::size_t>(owner - column_of.begin());
      more += contradictions_of(at, column) - contradictions_of(at, other);
    }
    if (more < kEnough) return false;
  }
  return true;
}

std::vector<PairChoice::Pair> PairChoice::decide() const {
  double scale = 1;
  for (const auto& [place, fit] : fits_) scale = std::max(scale, fit.squares);
  // As many columns more as rows: a row may have no peer.
  std::vector<std::vector<double>> costs(
      rows_.size(), std::vector<double>(columns_.size() + rows_.size(), kNoPair));
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t column = 0; column < columns_.size(); ++column)
      costs[row][column] = cost_of(row, column, scale);
  const std::vector<std::size_t> column_of = assign(costs);
  std::vector<Pair> pairs;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::size_t column = column_of[row];
    if (column >= columns_.size() || fit_of(row, column) == nullptr) continue;
    const bool shown = fits_enough(row, column) && is_shown(row, column_of);
    const PairedBy by = is_contradicted(row, column) ? PairedBy::order
                        : has_one_port(row, column)  ? PairedBy::source_port
                        : shown                      ? PairedBy::responses
                                                     : PairedBy::order;
    pairs.push_back({rows_[row], columns_[column], by});
  }
  return pairs;
}

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/qp_flows.h"

namespace lw::analysis {

/// Decides which flows between two hosts are the directions of one connection, where the PSNs of
/// responses fit several flows. Each flow gets one peer at most, and the sum of what contradicts
/// the pairs is the least.
class PairChoice {
 public:
  struct Pair {
    std::uint32_t a = 0, b = 0;
    PairedBy by{};
  };

  /// `flows` must outlive the object.
  explicit PairChoice(const std::vector<QpFlow>& flows) noexcept : flows_(flows) {}

  /// Adds flow `responses`, whose responses may answer the requests of the candidate.
  void add(std::uint32_t responses, const QpFlow::Candidate& candidate);
  /// Number of flows of the host that was added first.
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  /// All flows that were added.
  [[nodiscard]] std::vector<std::uint32_t> flows() const;
  /// Returns the pairs. PairedBy::order if other pairs are contradicted as little: a guess.
  [[nodiscard]] std::vector<Pair> decide() const;

 private:
  /// What is known about a pair of flows; both may have responses.
  struct Fit {
    std::uint32_t answers = 0, contradictions = 0;
    std::uint32_t fitting = 0;     // of the answers
    std::uint32_t impossible = 0;  // of these: no requests of the flow have such responses
    double squares = 0;            // of the times to answers, in ns^2
    int directions = 0;            // with responses that fit
  };
  using Place = std::optional<std::pair<bool, std::size_t>>;  // whether it is a row, and its index

  [[nodiscard]] Place place_of(std::uint32_t flow);
  [[nodiscard]] const Fit* fit_of(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool has_rival(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool is_contradicted(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool fits_enough(std::size_t row, std::size_t column) const;
  [[nodiscard]] double cost_of(std::size_t row, std::size_t column, double scale) const;
  [[nodiscard]] bool has_one_port(std::size_t row, std::size_t column) const;
  [[nodiscard]] double contradictions_of(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool is_shown(std::size_t row, const std::vector<std::size_t>& column_of) const;

  const std::vector<QpFlow>& flows_;
  std::vector<std::uint32_t> rows_, columns_;  // flows of the one host, and of the other
  std::map<std::pair<std::size_t, std::size_t>, Fit> fits_;  // by row and column
  std::map<std::uint32_t, bool> answers_;                    // flows with responses
};

}  // namespace lw::analysis

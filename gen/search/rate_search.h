// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "core/question.h"
#include "gen/search/trial_count.h"
#include "report/plot.h"
#include "report/run_rows.h"

namespace lw::gen {

/// Result of sending at one rate.
struct Trial {
  double fraction = 0;                         // of the highest rate, as requested
  std::uint64_t sent = 0, not_sent = 0;        // frames
  std::uint64_t received = 0;                  // distinct undamaged frames of those sent
  ArrivalCounts arrivals = {};                 // how frames arrived
  double wire_bps = 0, frames_per_second = 0;  // as sent
  bool offered = true;                         // the sender reached the requested rate
  std::uint64_t lost_here = 0;                 // frames that our own receiving port lost
  // of the latency, see DelayTrend; none: too few frames with signatures
  std::optional<Duration> delay_growth = {};
  bool delay_grows = false;   // beyond the noise
  Duration delay_noise = {};  // of delay_growth, if that is known
  Duration span = {};         // in which the frames were due
  // of the parts in which this machine stood still (TrialParts), and of those: lost
  std::uint64_t held_up = 0, lost_held_up = 0;
  bool as_a_whole = false;  // judged so: the rest of the parts tells nothing
  TrialParts::Still stood_still = {};
  bool passed = false;  // as search_rate() judged it

  /// Frames that did not arrive undamaged. A frame counts once, by its flow and sequence number.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    return sent > received ? sent - received : 0;
  }
  /// Share of the sent frames that was lost, in [0, 1].
  [[nodiscard]] double loss() const noexcept {
    return sent > 0 ? static_cast<double>(lost()) / static_cast<double>(sent) : 0;
  }
  /// Share of the frames that the path lost for certain, without those that our own port lost: in
  /// the parts in which this machine did not stand still, or, as a whole, what is above the frames
  /// that were due meanwhile, as a burst makes a queue drop at most as many as it has.
  [[nodiscard]] double path_loss() const noexcept;
  /// True if this machine stood still.
  [[nodiscard]] bool disturbed() const noexcept { return held_up > 0; }
  static const FigureTable& figures();
};

struct SearchConfig {
  double loss = 0;           // tolerated share of the frames sent, in [0, 1]
  double resolution = 0.01;  // share of the rate found, in (0, 1]
  int repeat = 1;            // consecutive trials that a rate must pass
  int confirm = 0;           // further trials that the rate found must pass
};

/// Result of a search. `passes` is the highest rate that passed, `fails` the lowest rate above it
/// at which the path lost too much, at most the resolution away: a share of that rate, or, if none
/// passes, of the highest one. Without `fails` the highest rate passed; without `passes` every rate
/// failed. `confirmed` are further trials that `passes` passed. With `not_offered`, the lowest rate
/// above `passes` that this machine could not send or receive, the path may pass more: nobody can
/// tell.
struct SearchResult {
  std::optional<Trial> passes, fails, not_offered;
  std::vector<Trial> trials;  // in order of time
  int confirmed = 0;
  bool complete = true;  // false: stopped before the bracket was as narrow as asked
};

/// Growth of the latency in a trial whose rate is one resolution above the path's, as what the path
/// does not take waits.
Duration growth_above(const Trial& trial, const SearchConfig& config) noexcept;
/// True if the latency grows, by more than a tenth of that: with less, the rate is the path's
/// within a tenth of the resolution.
bool is_too_fast(const Trial& trial, const SearchConfig& config) noexcept;
/// True if the noise of the latencies hides that growth, or this machine stood still and left too
/// little of the trial to show it. False if the loss fails the trial.
bool hides_growth(const Trial& trial, const SearchConfig& config) noexcept;

/// How a trial ended: it passed; the path lost too much, or its latency grew; or this machine did
/// not send at the rate, lost frames itself that the path did not lose, or hid whether latency
/// grows.
enum class TrialEnd : std::uint8_t { passed, failed, not_offered };
/// What a burst of this machine may have lost, or delayed, is not the path's: it was not offered.
TrialEnd end_of(const Trial& trial, const SearchConfig& config) noexcept;
std::string_view name_of(TrialEnd end) noexcept;

/// Finds the highest rate without loss by bisection (RFC 2544, 26.1): first the highest rate, then
/// the middle between the highest passed and the lowest failed one. Where the rate found fails a
/// trial of its confirmation, the search goes on below it. `try_at` runs a trial at a
/// fraction of the highest rate, in (0, 1]; without a trial the search stops there, incomplete.
/// Tries at most 1 + log2(1 / resolution / fraction found) rates, and as many again for each that
/// is not confirmed. Errors: those of try_at.
Result<SearchResult> search_rate(const SearchConfig& config,
                                 const std::function<Result<std::optional<Trial>>(double)>& try_at);

/// The search for one message size.
struct SizeSearch {
  std::uint64_t message_size = 0;  // bytes
  SearchResult result;

  static const FigureTable& figures();
};

/// What `search` prints as JSON.
struct SearchReport {
  const std::vector<SizeSearch>& sizes;
  const SearchConfig& config;

  static const FigureTable& figures();
};
inline constexpr JsonOutput kSearchOutput{.name = "rate_search",
                                          .title = "roce-gen search --json",
                                          .figures = &SearchReport::figures,
                                          .judged = true,
                                          .version = 2};

/// Adds what was found for each size.
void observe_search(Judge& judge, const SearchReport& report);

/// Returns the rows of a search's page: the rates found, and all trials.
report::RunRows page_rows(const SearchReport& report);

/// Returns true if every search ended as planned.
bool is_complete(const std::vector<SizeSearch>& searches) noexcept;

/// Formats a table, with a row per size, and what the rates are.
std::string to_text(const std::vector<SizeSearch>& searches, const SearchConfig& config);
/// Formats the frames that did not arrive once, in order and undamaged: "3 damaged, 2 copies";
/// empty if there are none.
std::string arrivals_text(const ArrivalCounts& counts);
/// Formats CSV: a line per trial, with its figures, after one with their names.
std::string to_csv(const std::vector<SizeSearch>& searches);
/// Plots the highest rate that passed and the lowest rate that failed, over message size.
report::Plot rate_plot(const std::vector<SizeSearch>& searches, const std::string& title);
/// Plots the loss of each trial over its rate, with a curve per message size.
report::Plot trial_plot(const std::vector<SizeSearch>& searches);

}  // namespace lw::gen

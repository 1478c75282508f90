// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/rate_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/report/run_report.h"
#include "report/figures/json.h"
#include "report/plot.h"
#include "report/table.h"

namespace lw::gen {
namespace {

std::string rate_text(const std::optional<Trial>& trial) {
  return trial ? format_bit_rate(trial->wire_bps) : "-";
}

/// Returns the kind of rate that a search finds.
std::string_view measure_of(const SearchConfig& config) {
  return config.loss > 0 ? "capacity" : "throughput";
}

std::string measure_text(const SearchConfig& config) {
  if (config.loss == 0)
    return "passes: throughput, the highest rate without loss (RFC 2544, 26.1)\n";
  return fmt::format(
      "passes: capacity, the highest rate with a frame loss (RFC 2544, 26.3) of at most {:g} %\n",
      100 * config.loss);
}

/// Why a rate fails: "0.0120 % lost", "latency grows by 18.2 ms".
std::string failure_text(const std::optional<Trial>& fails) {
  if (!fails) return "-";
  if (fails->lost() == 0 && fails->delay_growth)
    return "latency grows by " + format_duration(*fails->delay_growth);
  return fmt::format("{:.4f} % lost", 100 * fails->loss());
}

ArrivalCounts sum_of(const std::vector<Trial>& trials) {
  ArrivalCounts sum;
  for (const Trial& trial : trials) {
    const ArrivalCounts& counts = trial.arrivals;
    sum.received += counts.received;
    sum.duplicated += counts.duplicated;
    sum.out_of_order += counts.out_of_order;
    sum.bad_icrc += counts.bad_icrc;
    sum.earlier += counts.earlier;
    sum.unclear += counts.unclear;
    sum.other += counts.other;
  }
  return sum;
}

/// Unit of rate for a plot: the largest one in which `highest` is at least 1.
struct RateUnit {
  double bps;
  const char* name;
};

RateUnit unit_for(double highest) noexcept {
  for (const RateUnit unit : {RateUnit{1e9, "Gb/s"}, RateUnit{1e6, "Mb/s"}, RateUnit{1e3, "kb/s"}})
    if (highest >= unit.bps) return unit;
  return {1, "b/s"};
}

double highest_of(const std::vector<SizeSearch>& searches) noexcept {
  double highest = 0;
  for (const SizeSearch& search : searches)
    for (const auto& trial : {search.result.passes, search.result.fails})
      if (trial) highest = std::max(highest, trial->wire_bps);
  return highest;
}

}  // namespace

double Trial::path_loss() const noexcept {
  if (sent == 0 || (!as_a_whole && held_up >= sent)) return 0;
  const auto in_time = static_cast<double>(sent) * static_cast<double>(stood_still.total.count()) /
                       static_cast<double>(std::max<std::int64_t>(span.count(), 1));
  const double excused = as_a_whole ? in_time : static_cast<double>(lost_held_up);
  const double judged = static_cast<double>(as_a_whole ? sent : sent - held_up);
  return std::max(0.0, static_cast<double>(lost() - std::min(lost(), lost_here)) - excused) /
         judged;
}

Duration growth_above(const Trial& trial, const SearchConfig& config) noexcept {
  return Duration{
      static_cast<std::int64_t>(static_cast<double>(trial.span.count()) * config.resolution)};
}

bool is_too_fast(const Trial& trial, const SearchConfig& config) noexcept {
  constexpr int kNegligible = 10;
  return trial.delay_grows && trial.delay_growth &&
         *trial.delay_growth > growth_above(trial, config) / kNegligible;
}

bool hides_growth(const Trial& trial, const SearchConfig& config) noexcept {
  if (is_too_fast(trial, config) || trial.loss() > config.loss) return false;
  if (!trial.delay_growth) return trial.disturbed();
  return *trial.delay_growth + 2 * trial.delay_noise >= growth_above(trial, config);
}

TrialEnd end_of(const Trial& trial, const SearchConfig& config) noexcept {
  if (!trial.offered) return TrialEnd::not_offered;
  if (trial.loss() > config.loss)
    return trial.path_loss() > config.loss ? TrialEnd::failed : TrialEnd::not_offered;
  if (is_too_fast(trial, config)) {
    const bool by_stall = trial.as_a_whole && *trial.delay_growth <= trial.stood_still.longest;
    return by_stall ? TrialEnd::not_offered : TrialEnd::failed;
  }
  return hides_growth(trial, config) ? TrialEnd::not_offered : TrialEnd::passed;
}

std::string_view name_of(TrialEnd end) noexcept {
  constexpr std::string_view kNames[] = {"passed", "failed", "not offered"};
  return kNames[static_cast<std::size_t>(end)];
}

namespace {

/// Notes the last trial at a rate: a bound of the search.
void note_bound(SearchResult& result, TrialEnd end) {
  const Trial& trial = result.trials.back();
  if (end == TrialEnd::passed) result.passes = trial;
  if (end == TrialEnd::not_offered) result.not_offered = trial;
  if (end != TrialEnd::failed) return;
  result.fails = trial;
  result.not_offered.reset();  // it is above
}

/// A search, rate by rate.
class Bisection {
 public:
  using TryAt = std::function<Result<std::optional<Trial>>(double)>;
  Bisection(const SearchConfig& config, const TryAt& try_at) : config_(config), try_at_(try_at) {}

  Result<SearchResult> run() {
    while (result_.complete) {
      const auto end = try_rate(next_, config_.repeat);
      if (!end) return std::unexpected(end.error());
      if (!*end) break;
      note_bound(result_, **end);
      (**end == TrialEnd::passed ? low_ : high_) = next_;
      if (is_narrow()) {
        const auto holds = confirm();
        if (!holds) return std::unexpected(holds.error());
        if (*holds) break;
      }
      next_ = low_ + (high_ - low_) / 2;
    }
    return std::move(result_);
  }

 private:
  /// Runs up to `count` trials at a rate, until one does not pass. Returns how the last one ended;
  /// nothing if there was none any more.
  Result<std::optional<TrialEnd>> try_rate(double rate, int count) {
    TrialEnd end = TrialEnd::passed;
    int again = 0;
    for (passed_ = 0; again > 0 || (end == TrialEnd::passed && passed_ < count);) {
      auto trial = try_at_(rate);
      if (!trial) return std::unexpected(trial.error());
      result_.complete = trial->has_value();
      if (!result_.complete) return std::nullopt;
      (*trial)->fraction = rate;
      end = end_of(**trial, config_);
      (*trial)->passed = end == TrialEnd::passed;
      passed_ += (*trial)->passed ? 1 : 0;
      if ((*trial)->offered) offered_ = std::max(offered_, rate);
      again = end == TrialEnd::not_offered && again < repeats_of(**trial) ? again + 1 : 0;
      result_.trials.push_back(**trial);
    }
    return end;
  }
  /// How often a trial that was not offered is repeated: this machine stood still in it, and
  /// another one may tell more. A rate that no trial has reached is most likely above this
  /// machine's.
  [[nodiscard]] int repeats_of(const Trial& trial) const noexcept {
    constexpr int kMost = 5;
    if (!trial.offered && trial.received == 0) return kMost;  // nobody reads the port yet
    if (!trial.disturbed() && !(trial.offered && hides_growth(trial, config_))) return 0;
    return trial.offered || trial.fraction <= offered_ ? kMost : 1;
  }
  [[nodiscard]] bool is_narrow() const noexcept {
    return high_ - low_ <= config_.resolution * (low_ > 0 ? high_ : 1);
  }
  /// Repeats trials at the rate found. Returns true if the search ends there; otherwise the rate is
  /// a bound from above, and the one that passed below it is one from below.
  Result<bool> confirm() {
    if (!result_.passes || config_.confirm == 0) return true;
    const auto end = try_rate(low_, config_.confirm);
    if (!end) return std::unexpected(end.error());
    result_.confirmed = passed_;
    if (!*end || **end == TrialEnd::passed) return true;
    high_ = low_;
    low_ = 0;
    result_.passes.reset();
    for (const Trial& trial : result_.trials) {
      if (!trial.passed || trial.fraction >= high_ || trial.fraction <= low_) continue;
      low_ = trial.fraction;
      result_.passes = trial;
    }
    note_bound(result_, **end);
    result_.confirmed = 0;
    return is_narrow() && !result_.passes;
  }

  const SearchConfig& config_;
  const TryAt& try_at_;
  SearchResult result_;
  double low_ = 0, high_ = 1, next_ = 1;
  int passed_ = 0;      // trials of the latest rate
  double offered_ = 0;  // highest rate that the sender has reached
};

}  // namespace

Result<SearchResult> search_rate(
    const SearchConfig& config, const std::function<Result<std::optional<Trial>>(double)>& try_at) {
  return Bisection(config, try_at).run();
}

bool is_complete(const std::vector<SizeSearch>& searches) noexcept {
  return std::ranges::all_of(searches, [](const auto& search) { return search.result.complete; });
}

std::string to_text(const std::vector<SizeSearch>& searches, const SearchConfig& config) {
  using report::Align;
  report::TextTable table({{"message", Align::right},
                           {"passes", Align::right},
                           {"frames/s", Align::right},
                           {"of the highest", Align::right},
                           {"fails", Align::right},
                           {"why", Align::right},
                           {"trials", Align::right}});
  for (const SizeSearch& search : searches) {
    const auto& [passes, fails, not_offered, trials, confirmed, complete] = search.result;
    table.add_row({fmt::format("{} B", search.message_size), rate_text(passes),
                   passes ? per_second_text(passes->frames_per_second) : "-",
                   passes ? fmt::format("{:.1f} %", 100 * passes->fraction) : "-",
                   not_offered ? "not offered" : rate_text(fails),
                   not_offered ? "-" : failure_text(fails),
                   fmt::to_string(trials.size()) + (complete ? "" : ", stopped")});
  }
  std::string text = table.to_string() + measure_text(config);
  for (const SizeSearch& search : searches)
    if (const std::string words = arrivals_text(sum_of(search.result.trials)); !words.empty())
      text += fmt::format("{} B, all trials: {}\n", search.message_size, words);
  return text;
}

std::string arrivals_text(const ArrivalCounts& counts) {
  std::string text;
  const auto add = [&](std::uint64_t frames, std::string_view what) {
    if (frames > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", frames, what);
  };
  add(counts.bad_icrc, "damaged");
  add(counts.duplicated, "copies");
  add(counts.out_of_order, "late");
  add(counts.unclear, "too late to tell from copies");
  add(counts.earlier, "of earlier trials");
  return text;
}

const FigureTable& Trial::figures() {
  using Row = FigureOf<Trial>;
  static constexpr Figure kRows[] = {
      Row::of<&Trial::fraction>("fraction", "Rate, as a fraction of the highest."),
      Row::of<&Trial::wire_bps>("wire_bps", "Rate on the wire.", Unit::bits_per_second),
      Row::of<&Trial::frames_per_second>("frames_per_second", "Rate, in frames per second."),
      Row::of<&Trial::sent>("sent", "Frames sent.", Unit::frames),
      Row::of<&Trial::received>("received", "Distinct undamaged frames of those sent that came.",
                                Unit::frames),
      Row::of<&Trial::lost>("lost", "Frames sent that did not come undamaged.", Unit::frames),
      Row::rows_of<&Trial::arrivals>(),
      Row::of<&Trial::not_sent>("not_sent", "Frames that the port did not take.", Unit::frames),
      Row::of<&Trial::offered>("offered", "True if the sender reached the rate."),
      Row::of<&Trial::lost_here>("lost_here", "Frames that our own receiving port lost.",
                                 Unit::frames),
      Row::of<&Trial::delay_growth>(
          "delay_growth_ns",
          "Growth of the latency from the first to the last tenth, without the parts in which this "
          "machine stood still; null if a tenth has no frame with a signature.",
          Unit::ns)
          .or_null(),
      Row::of<&Trial::delay_grows>("delay_grows", "True if latency grew beyond the noise."),
      Row::of<&Trial::delay_noise>(
          "delay_noise_ns",
          "Largest difference of a tenth's least latency from the line through the first and the "
          "last; 0 if the growth is null.",
          Unit::ns),
      Row::of<&Trial::span>("span_ns", "Time in which the frames were due.", Unit::ns),
      Row::of<&Trial::held_up>(
          "held_up",
          "Frames of the parts of the trial in which this machine stood still, and then sent "
          "or passed on a burst above the rate.",
          Unit::frames),
      Row::of<&Trial::lost_held_up>("lost_held_up", "Lost frames of those.", Unit::frames),
      Row::of<&Trial::disturbed>("disturbed", "True if `held_up` is above 0."),
      Row::of<&Trial::passed>("passed",
                              "True if the loss was within the bound, and latency did not grow.")};
  static constexpr FigureTable kTable{"A trial.", kRows};
  return kTable;
}

const FigureTable& SizeSearch::figures() {
  using Row = FigureOf<SizeSearch>;
  static constexpr Figure kRows[] = {
      Row::of<&SizeSearch::message_size>("message_size", "Message size, in bytes.", Unit::bytes),
      Row::of<through<&SizeSearch::result, &SearchResult::passes>>(
          "passes", "Highest rate that passed; null if none did.")
          .or_null(),
      Row::of<through<&SizeSearch::result, &SearchResult::fails>>(
          "fails", "Lowest rate at which the path lost too much; null if there was none.")
          .or_null(),
      Row::of<through<&SizeSearch::result, &SearchResult::not_offered>>(
          "not_offered",
          "Lowest rate above `passes` that this machine could not send or receive: the path may "
          "pass more; null if there was none.")
          .or_null(),
      Row::of<through<&SizeSearch::result, &SearchResult::confirmed>>(
          "confirmed", "Further trials that the highest rate passed."),
      Row::of<through<&SizeSearch::result, &SearchResult::trials>>("trials", "All trials.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& SearchReport::figures() {
  using Row = FigureOf<SearchReport>;
  static constexpr std::string_view kMeasures[] = {"throughput", "capacity"};
  static constexpr Figure kRows[] = {
      Row::of<[](const SearchReport& r) { return measure_of(r.config); }>(
          "measure", "Kind of rate that passes: throughput (no loss) or capacity (some loss).")
          .among(kMeasures),
      Row::of<[](const SearchReport& r) { return r.config.loss; }>(
          "loss", "Share of lost frames that is allowed, 0 to 1."),
      Row::of<[](const SearchReport& r) { return r.config.resolution; }>(
          "resolution", "Resolution, as a fraction of the rate found."),
      Row::of<[](const SearchReport& r) -> const auto& { return r.sizes; }>(
          "sizes", "A search for each message size."),
      Row::of<[](const SearchReport& r) { return !is_complete(r.sizes); }>(
          "incomplete", "True if a signal ended the search early; absent otherwise.")
          .if_any()};
  static constexpr FigureTable kTable{"Highest rates without loss.", kRows};
  return kTable;
}

namespace {

/// "1.17 Gb/s, 12.5 % of the highest; fails at 1.20 Gb/s".
std::string found_text(const SearchResult& result) {
  std::string text = "no rate passes";
  if (result.passes)
    text = fmt::format("{} passes, {} of the highest", format_bit_rate(result.passes->wire_bps),
                       format_share(result.passes->fraction));
  if (result.not_offered)
    return text + fmt::format("; {} of the highest was not offered",
                              format_share(result.not_offered->fraction));
  return text + (result.fails
                     ? fmt::format("; fails at {}: {}", format_bit_rate(result.fails->wire_bps),
                                   failure_text(result.fails))
                     : "; none failed");
}

/// Why this machine bounds the search.
std::string limit_text(const Trial& trial, const SearchConfig& config) {
  if (trial.offered && hides_growth(trial, config) && !trial.delay_growth)
    return "this machine stood still there, and no frame shows whether latency grows";
  if (trial.offered && hides_growth(trial, config))
    return fmt::format(
        "latency varied by {} there, which hides the growth of {} that a rate one resolution too "
        "high causes",
        format_duration(trial.delay_noise), format_duration(growth_above(trial, config)));
  if (trial.offered && trial.disturbed() && trial.loss() > config.loss)
    return fmt::format(
        "this machine stood still there for {}, {} of {} lost frames came behind that",
        format_duration(trial.stood_still.total), format_count(trial.lost_held_up),
        format_count(trial.lost()));
  if (trial.offered && trial.disturbed())
    return fmt::format("this machine stood still there for {}, and latency grew by no more",
                       format_duration(trial.stood_still.longest));
  if (trial.offered)
    return fmt::format("this machine's own port lost {} of {} frames there",
                       format_count(trial.lost_here), format_count(trial.sent));
  return fmt::format("this machine, or the port, sent only {} there",
                     format_bit_rate(trial.wire_bps));
}

/// What lets this machine offer that trial.
std::string_view remedy_of(const Trial& trial, const SearchConfig& config) {
  if (hides_growth(trial, config))
    return "use longer trials (--duration), or a machine with less other work";
  return trial.offered && trial.disturbed()
             ? "use a machine with less other work, or more cores"
             : "use a faster port or more cores, or ask for a lower --max-rate";
}

}  // namespace

void observe_search(Judge& judge, const SearchReport& report) {
  for (const auto& [size, result] : report.sizes) {
    Observation found{.name = "passes",
                      .of = fmt::format("{} B", format_count(size)),
                      .value = result.passes ? result.passes->wire_bps : 0,
                      .text = found_text(result),
                      .count = result.trials.size(),
                      .asked_by = "roce-gen search"};
    if (result.not_offered) {
      found.is_lower_bound = judge.expects("passes");  // nobody else asked for a bound
      found.unsure = fmt::format(
          "not offered above {}: {}",
          result.passes ? format_bit_rate(result.passes->wire_bps) : std::string("0 b/s"),
          limit_text(*result.not_offered, report.config));
      found.remedy = remedy_of(*result.not_offered, report.config);
    }
    if (!result.complete) found.unsure = "a signal ended the search";
    if (!result.complete || (result.not_offered && !result.passes)) found.value.reset();
    judge.add(found);
  }
}

report::RunRows page_rows(const SearchReport& report) {
  report::RunRows rows;
  report::AccountTable& trials = rows.accounts.emplace_back(
      "", std::vector<std::string>{"Message size", "Share of the highest rate", "Sent", "Received",
                                   "Lost", "Not sent", "Passed"});
  for (const auto& [size, result] : report.sizes) {
    rows.requested.push_back(
        {fmt::format("{} B: highest rate that passes", format_count(size)),
         fmt::format("loss of at most {}", format_share(report.config.loss)), found_text(result),
         result.not_offered ? std::nullopt : std::optional(result.passes.has_value())});
    for (const Trial& trial : result.trials)
      trials.rows.push_back({size, trial.fraction, trial.sent, trial.received, trial.lost(),
                             trial.not_sent, trial.passed});
  }
  return rows;
}

std::string to_csv(const std::vector<SizeSearch>& searches) {
  report::RowFormat rows(report::RowStyle::csv, kSearchOutput);
  std::string text;
  for (const auto& [size, result] : searches)
    for (const Trial& trial : result.trials) {
      report::Json row = {{"message_size", size}};
      row.update(report::json_of(trial));
      text += rows.line(row);
    }
  return text;
}

report::Plot rate_plot(const std::vector<SizeSearch>& searches, const std::string& title) {
  const RateUnit unit = unit_for(highest_of(searches));
  report::PlotAxis sizes{.label = "message size, bytes",
                         .scale = report::PlotAxis::Scale::category};
  report::PlotCurve passed{.name = "passes", .points = {}};
  report::PlotCurve failed{.name = "fails", .points = {}, .reference = true, .joined = false};
  for (const SizeSearch& search : searches) {
    const auto x = static_cast<double>(sizes.categories.size());
    sizes.categories.push_back(fmt::to_string(search.message_size));
    if (const auto& trial = search.result.passes)
      passed.points.push_back({x, trial->wire_bps / unit.bps, {}, {}});
    if (const auto& trial = search.result.fails)
      failed.points.push_back({x, trial->wire_bps / unit.bps, {}, {}});
  }
  return {.title = title,
          .x = std::move(sizes),
          .y = {.label = fmt::format("on the wire, {}", unit.name)},
          .curves = {std::move(passed), std::move(failed)}};
}

report::Plot trial_plot(const std::vector<SizeSearch>& searches) {
  double highest = 0;
  for (const SizeSearch& search : searches)
    for (const Trial& trial : search.result.trials) highest = std::max(highest, trial.wire_bps);
  const RateUnit unit = unit_for(highest);
  report::Plot plot{.title = "Loss of each trial",
                    .x = {.label = fmt::format("rate on the wire, {}", unit.name)},
                    .y = {.label = "loss, % of the frames sent"},
                    .curves = {}};
  for (const SizeSearch& search : searches) {
    report::PlotCurve curve{.name = fmt::format("{} B", search.message_size), .points = {}};
    for (const Trial& trial : search.result.trials)
      curve.points.push_back({trial.wire_bps / unit.bps, 100 * trial.loss(), {}, {}});
    std::ranges::stable_sort(curve.points, {}, &report::PlotPoint::x);
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/live_page.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "core/histogram.h"
#include "gen/report/progress_display.h"
#include "report/figures/json.h"
#include "report/html_page.h"
#include "web/server.h"

namespace lw::gen {

extern const report::HtmlPage kLivePage;  // live.html, made by embed.py

/// Figures of the loop at one time.
struct LiveFigures {
  std::string phase = "waiting";  // for the links of the ports; then "running", "ended"
  Duration elapsed{0};
  std::optional<Duration> left;
  std::vector<FlowProgress> flows = {};
  Histogram latencies = {};        // ns, of all flows
  Verdict verdict = {};            // so far
  std::string latency_doubt = {};  // why a flow's latencies are not valid; empty: all are
};

namespace {

using report::Json;

constexpr std::size_t kMostLiveRows = 100;
/// Largest number of received streams with merged histograms. The loop takes 0.9 ms to merge 64
/// with latencies from 1 us to 10 ms, and 15 ms to merge 250.
constexpr std::size_t kMostMerged = 64;

LiveFigures figures_of(std::string phase, Duration elapsed, std::optional<Duration> left,
                       const std::vector<FlowProgress>& flows, const Measurement* received) {
  LiveFigures figures{.phase = std::move(phase), .elapsed = elapsed, .left = left, .flows = flows};
  const bool quantiles = received != nullptr && received->flows().size() <= kMostQuantiles;
  for (FlowProgress& flow : figures.flows) {
    if (quantiles && flow.latency != nullptr) flow.p99_ns = flow.latency->quantile(0.99);
    flow.latency = nullptr;
  }
  if (!quantiles) return figures;
  const bool few = received->flows().size() <= kMostMerged;
  for (const ReceiveFlow& flow : received->flows()) {
    if (few && flow.signature) figures.latencies.merge(flow.signature->latency);
    if (figures.latency_doubt.empty()) figures.latency_doubt = received->latency_doubt(flow);
  }
  return figures;
}

/// Latencies since the start.
struct LiveLatency {
  std::uint64_t count = 0;
  double mean = 0;
  std::int64_t max = 0, p99 = 0;

  static const FigureTable& figures() {
    using Row = FigureOf<LiveLatency>;
    static constexpr Figure kRows[] = {
        Row::of<&LiveLatency::count>("count", "Number of latencies."),
        Row::of<&LiveLatency::mean>("mean", "Mean.", Unit::ns),
        Row::of<&LiveLatency::max>("max", "Largest value.", Unit::ns),
        Row::of<&LiveLatency::p99>("p99",
                                   "99 % quantile; of several QPs the largest. Absent with more "
                                   "than 256 received streams.",
                                   Unit::ns)
            .if_any()};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

std::optional<LiveLatency> live_latency(const FlowProgress& flow) {
  if (flow.latencies == 0) return std::nullopt;
  return LiveLatency{flow.latencies, flow.latency_sum_ns / static_cast<double>(flow.latencies),
                     flow.latency_max_ns, flow.p99_ns};
}

const FigureTable& sent_figures() {
  using Row = FigureOf<FlowProgress>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowProgress::sent_frames>("frames", "Frames that the ports took.", Unit::frames),
      Row::of<&FlowProgress::sent_wire_bytes>(
          "wire_bytes", "Bytes on the wire, with preamble, FCS and inter-frame gap.", Unit::bytes),
      Row::of<&FlowProgress::not_sent>("not_sent", "Frames that the ports did not take.",
                                       Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& received_figures() {
  using Row = FigureOf<FlowProgress>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowProgress::received_frames>("frames", "Frames received.", Unit::frames),
      Row::of<&FlowProgress::received_bytes>("bytes", "Their bytes, without FCS.", Unit::bytes),
      Row::of<&FlowProgress::lost>(
          "lost", "Frames missing so far; a late one is no longer missing.", Unit::frames),
      Row::of<&FlowProgress::duplicated>("duplicated", "Frames that came again.", Unit::frames),
      Row::of<&FlowProgress::out_of_order>("out_of_order", "Frames that came after a later one.",
                                           Unit::frames),
      Row::of<&FlowProgress::bad_icrc>("bad_icrc", "Frames with a bad ICRC.", Unit::frames),
      Row::of<&FlowProgress::ce_marks>("ce_marks", "Frames marked CE.", Unit::frames),
      Row::of<live_latency>("latency_ns", "Latencies since the start; absent without signatures.",
                            Unit::ns)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

/// Flows with one name: the QPs of a [[flow]].
struct LiveRow {
  FlowProgress sum;
  std::size_t qps = 0;

  static const FigureTable& figures() {
    using Row = FigureOf<LiveRow>;
    static constexpr Figure kRows[] = {
        Row::of<through<&LiveRow::sum, &FlowProgress::name>>(
            "name", "Name of the flow; `all` for the sum."),
        Row::of<&LiveRow::qps>("qps", "Number of QPs that the row sums up."),
        Row::with_table<[](const LiveRow& row) { return row.sum.is_sent ? &row.sum : nullptr; },
                        sent_figures>(
            "sent", "What the run has sent; absent if it does not send this flow."),
        Row::with_table<[](const LiveRow& row) { return row.sum.is_received ? &row.sum : nullptr; },
                        received_figures>("received",
                                          "What the run has received; absent if nothing came.")};
    static constexpr FigureTable kTable{"Figures of a flow.", kRows};
    return kTable;
  }
};

std::vector<LiveRow> rows_of(const std::vector<FlowProgress>& flows) {
  std::vector<LiveRow> rows;
  std::map<std::string_view, std::size_t> places;
  for (const FlowProgress& flow : flows) {
    const auto [place, is_new] = places.try_emplace(flow.name, rows.size());
    if (is_new) rows.push_back({.sum = {.name = flow.name}});
    LiveRow& row = rows[place->second];
    row.sum += flow;
    ++row.qps;
  }
  return rows;
}

/// Returns [first, end, count] of the buckets that are not empty; 128 buckets per power of two.
std::vector<std::array<std::uint64_t, 3>> buckets_of(const Histogram& histogram) {
  std::vector<std::array<std::uint64_t, 3>> buckets;
  for (const auto& [first, last, count] : histogram.occupied()) {
    const auto value = static_cast<std::uint64_t>(first);
    const int shift = std::max(static_cast<int>(std::bit_width(value)) - 8, 0);
    const std::uint64_t begin = value >> shift << shift;
    if (!buckets.empty() && buckets.back()[0] == begin)
      buckets.back()[2] += count;
    else
      buckets.push_back({begin, begin + (std::uint64_t{1} << shift), count});
  }
  return buckets;
}

double live_seconds(Duration time) { return static_cast<double>(time.count()) * 1e-9; }

/// What a page gets.
struct LiveState {
  explicit LiveState(const LiveFigures& of)
      : figures(of), rows(rows_of(of.flows)), total{total_of(of.flows), of.flows.size()} {
    const std::size_t all = rows.size();
    rows.resize(std::min(all, kMostLiveRows));
    more = all - rows.size();
  }

  const LiveFigures& figures;
  std::vector<LiveRow> rows;
  LiveRow total;
  std::size_t more = 0;
};

std::optional<double> left_seconds(const LiveState& state) {
  if (!state.figures.left) return std::nullopt;
  return std::max(0.0, live_seconds(*state.figures.left));
}

std::string live_page(const LiveSubject& subject) {
  Json asked = Json::object();
  for (const auto& [name, rate] : subject.asked) asked[name] = rate;
  return report::html_text(kLivePage, {{"program", "roce-gen"},
                                       {"command", subject.command},
                                       {"title", subject.title},
                                       {"send", subject.send},
                                       {"receive", subject.receive},
                                       {"asked", std::move(asked)}});
}

}  // namespace

const FigureTable& live_figures() {
  using Row = FigureOf<LiveState>;
  static constexpr std::string_view kPhases[] = {"waiting", "running", "ended"};
  static constexpr Figure kRows[] = {
      Row::of<[](const LiveState& s) -> const auto& {
        return s.figures.phase;
      }>("phase",
         "What the run does: `waiting` for the links of its ports, `running`, or `ended`, with the "
         "final figures.")
          .among(kPhases),
      Row::of<[](const LiveState& s) { return live_seconds(s.figures.elapsed); }>(
          "seconds", "Time since the start, in seconds."),
      Row::of<left_seconds>("left_seconds",
                            "Time until the run ends, in seconds; absent if it is not known."),
      Row::of<&LiveState::total>("total", "Sum of all flows."),
      Row::of<&LiveState::rows>("flows", "The first 100 flows, the QPs of a [[flow]] together."),
      Row::of<&LiveState::more>("more_flows", "Flows that `flows` leaves out."),
      Row::of<[](const LiveState& s) { return buckets_of(s.figures.latencies); }>(
          "latencies_ns",
          "Histogram of the latencies of all flows since the start: [first, end, count] of each "
          "bucket that is not empty, in ns, from `first` to below `end`. Empty with more than 64 "
          "received streams."),
      Row::of<[](const LiveState& s) -> const auto& { return s.figures.verdict; }>(
          "verdict", "What was asked of the run, and whether it holds so far."),
      Row::of<[](const LiveState& s) -> const auto& { return s.figures.latency_doubt; }>(
          "latency_doubt", "Why the latencies of a flow mean nothing; empty if none is known to.")};
  static constexpr FigureTable kTable{
      "State of a run, which its live page gets twice a second as a Server-Sent Event.", kRows};
  return kTable;
}

/// Holds the newest figures, and their JSON after a page has requested it.
class LivePage::Feed {
 public:
  Feed(web::Site site, const LiveSubject& subject)
      : url_(site.url()),
        server_(std::move(site),
                web::routes_of({.page = live_page(subject), .state = [this] { return text(); }})) {}

  [[nodiscard]] const std::string& url() const noexcept { return url_; }

  void put(LiveFigures figures) {
    auto made = std::make_shared<const LiveFigures>(std::move(figures));
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) newest_.swap(made);
  }
  void put_last(LiveFigures figures) {
    {
      const std::lock_guard lock(mutex_);
      newest_ = std::make_shared<const LiveFigures>(std::move(figures));
    }
    server_.finish();
  }

 private:
  web::SharedText text() {
    const std::lock_guard one(text_mutex_);
    std::unique_lock lock(mutex_);
    auto newest = newest_;
    lock.unlock();
    if (newest != figures_ || !text_) {
      figures_ = std::move(newest);
      text_ =
          std::make_shared<const std::string>(report::json_line(kLiveOutput, LiveState(*figures_)));
    }
    return text_;
  }

  std::string url_;
  std::mutex mutex_;  // guards newest_; held only to copy or swap it
  std::shared_ptr<const LiveFigures> newest_ = std::make_shared<const LiveFigures>();
  std::mutex text_mutex_;  // guards the next two
  std::shared_ptr<const LiveFigures> figures_;
  web::SharedText text_;  // of figures_
  web::Server server_;    // the last member: its threads use all others
};

LivePage::LivePage(std::unique_ptr<Feed> feed) : feed_(std::move(feed)) {}
LivePage::LivePage(LivePage&& other) noexcept = default;
LivePage::~LivePage() = default;

Result<LivePage> LivePage::open(const web::SiteOptions& options, const LiveSubject& subject) {
  auto site = web::open_site(options);
  if (!site) return std::unexpected(site.error());
  return LivePage(std::make_unique<Feed>(std::move(*site), subject));
}

const std::string& LivePage::url() const noexcept { return feed_->url(); }

void LivePage::show(Duration elapsed, std::optional<Duration> left,
                    const std::vector<FlowProgress>& flows, const Measurement* received,
                    const Verdict& verdict) {
  LiveFigures figures = figures_of("running", elapsed, left, flows, received);
  figures.verdict = verdict;
  feed_->put(std::move(figures));
}

void LivePage::finish(Duration elapsed, const std::vector<FlowProgress>& flows,
                      const Measurement* received, const Verdict& verdict) {
  LiveFigures figures = figures_of("ended", elapsed, std::nullopt, flows, received);
  figures.verdict = verdict;
  feed_->put_last(std::move(figures));
}

}  // namespace lw::gen

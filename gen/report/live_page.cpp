// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/live_page.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "core/histogram.h"
#include "gen/report/progress_display.h"
#include "report/html_page.h"
#include "report/json_line.h"
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

/// Flows with one name: the QPs of a [[flow]].
struct LiveRow {
  FlowProgress sum;
  std::size_t qps = 0;
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

Json received_row(const FlowProgress& flow) {
  Json json = {{"frames", flow.received_frames},
               {"bytes", flow.received_bytes},
               {"lost", flow.lost},
               {"duplicated", flow.duplicated},
               {"out_of_order", flow.out_of_order},
               {"bad_icrc", flow.bad_icrc},
               {"ce_marks", flow.ce_marks}};
  if (flow.latencies == 0) return json;
  Json& latency =
      json["latency_ns"] = {{"count", flow.latencies},
                            {"mean", flow.latency_sum_ns / static_cast<double>(flow.latencies)},
                            {"max", flow.latency_max_ns}};
  if (flow.p99_ns != 0) latency["p99"] = flow.p99_ns;
  return json;
}

Json row_json(const LiveRow& row) {
  const FlowProgress& flow = row.sum;
  Json json = {{"name", flow.name}, {"qps", row.qps}};
  if (flow.is_sent)
    json["sent"] = {{"frames", flow.sent_frames},
                    {"wire_bytes", flow.sent_wire_bytes},
                    {"not_sent", flow.not_sent}};
  if (flow.is_received) json["received"] = received_row(flow);
  return json;
}

/// Returns [first, end, count] of the buckets that are not empty; 128 buckets per power of two.
Json buckets_json(const Histogram& histogram) {
  Json buckets = Json::array();
  for (const auto& [first, last, count] : histogram.occupied()) {
    const int shift =
        std::max(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(first))) - 8, 0);
    const std::int64_t begin = first >> shift << shift;
    if (!buckets.empty() && buckets.back()[0] == begin)
      buckets.back()[2] = buckets.back()[2].get<std::uint64_t>() + count;
    else
      buckets.push_back({begin, begin + (std::int64_t{1} << shift), count});
  }
  return buckets;
}

double live_seconds(Duration time) { return static_cast<double>(time.count()) * 1e-9; }

std::string live_json(const LiveFigures& figures) {
  Json json = {{"phase", figures.phase}, {"seconds", live_seconds(figures.elapsed)}};
  if (figures.left) json["left_seconds"] = std::max(0.0, live_seconds(*figures.left));
  const auto rows = rows_of(figures.flows);
  json["total"] = row_json({total_of(figures.flows), figures.flows.size()});
  auto& flows = json["flows"] = Json::array();
  for (std::size_t i = 0; i < std::min(rows.size(), kMostLiveRows); ++i)
    flows.push_back(row_json(rows[i]));
  json["more_flows"] = rows.size() - flows.size();
  json["latencies_ns"] = buckets_json(figures.latencies);
  json["latency_doubt"] = figures.latency_doubt;
  return report::json_line("longwire.live", json);
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
      text_ = std::make_shared<const std::string>(live_json(*figures_));
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
                    const std::vector<FlowProgress>& flows, const Measurement* received) {
  feed_->put(figures_of("running", elapsed, left, flows, received));
}

void LivePage::finish(Duration elapsed, const std::vector<FlowProgress>& flows,
                      const Measurement* received) {
  feed_->put_last(figures_of("ended", elapsed, std::nullopt, flows, received));
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/path_pictures.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "dissect/matching/match_delays.h"
#include "dissect/report/page_data.h"
#include "roce/describe.h"
#include "wire/address.h"

namespace lw::dissect {
namespace {

using report::Json;

std::string flow_text(const roce::FlowKey& key) {
  const auto address = [](const std::array<std::byte, 16>& bytes) {
    return wire::to_string(wire::ip_of(wire::Ipv6Address{bytes}));
  };
  return fmt::format("{} > {} QP {:#x}", address(key.source), address(key.destination),
                     key.dest_qp);
}

/// Equal classes of delays; the last one has all longer ones.
struct DelayBins {
  std::int64_t from = 0, width = 1;  // ns

  explicit DelayBins(const Delays& delays) {
    if (delays.count() == 0) return;
    from = delays.quantile(0);
    width = stamp_difference(delays.quantile(0.999), from) / static_cast<int>(kDelayBins) + 1;
  }
  [[nodiscard]] std::size_t of(std::int64_t delay) const noexcept {
    const auto number = static_cast<std::uint64_t>(stamp_difference(delay, from) / width);
    return static_cast<std::size_t>(std::min<std::uint64_t>(number, kDelayBins));
  }
};

/// The packets of one flow, or of all.
struct FlowPicture {
  ThinSeries delays{kMostPlottedDelays}, losses{kMostPlottedLosses};
  std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(kDelayBins + 1);

  [[nodiscard]] Json json(std::string name, const DelayBins& classes) const {
    Json row;
    row["name"] = std::move(name);
    row["delays"] = series_json(delays);
    row["losses"] = series_json(losses);  // the values are numbers of frames
    row["bins"] = {{"from_ns", classes.from}, {"width_ns", classes.width}, {"frames", bins}};
    return row;
  }
};

/// Makes the pictures of one direction.
class Painter {
 public:
  Painter(const PicturedPair& pair, bool goes_far)
      : pair_(pair),
        goes_far_(goes_far),
        result_(goes_far ? pair.found.near_to_far : pair.found.far_to_near),
        delays_(pair.found.clocks, pair.found.steps),
        bins_(result_.delays) {
    if (!pair_.near.empty()) begin_ns_ = span_of(pair_.near).first;
    for (const CaptureRecord& one : pair_.far.all())
      begin_ns_ = std::min(begin_ns_, delays_.near_clock_ns(one));
    if (pair_.near.empty() && pair_.far.empty()) begin_ns_ = 0;
    choose_flows();
  }

  Json paint(const std::string& name) {
    for (const Match& m : pair_.found.matching.matches)
      if (m.goes_far == goes_far_ && m.certain) add(m);
    for (const Unmatched& frame : pair_.found.matching.unmatched)
      if (is_lost(frame)) add_loss(sent(frame.order));
    Json picture;
    picture["name"] = name;
    picture["goes_far"] = goes_far_;
    picture["begin_ns"] = fmt::format("{}", begin_ns_);
    picture["sent"] = result_.sent;
    picture["lost"] = result_.lost;
    picture["variation_only"] = result_.variation_only;
    picture["flows"] = Json::array({all_.json("all flows", bins_)});
    if (flows_.size() > 1)
      for (const auto& [flow, one] : flows_)
        picture["flows"].push_back(one.json(flow_text(pair_.flows[flow]), bins_));
    picture["flows_of"] = frames_of_.size();
    picture["moments"] = moments();
    picture["lost_frames"] = lost_frames();
    return picture;
  }

 private:
  [[nodiscard]] CaptureRecord sent(std::uint32_t order) const {
    return (goes_far_ ? pair_.near : pair_.far)[order];
  }
  /// Whether it counts as lost: the other point was captured when it passed there.
  [[nodiscard]] bool is_lost(const Unmatched& frame) const {
    if (frame.goes_far != goes_far_ || frame.at_receiver()) return false;
    if (pair_.found.lacking.has(frame, sent(frame.order))) return false;
    const auto& span = pair_.found.span;
    return !span || !span->is_outside(sent(frame.order), frame.at_far, goes_far_);
  }
  /// Time since the begin, by the near clock.
  [[nodiscard]] std::int64_t time_of(const CaptureRecord& sent) const {
    return stamp_difference(goes_far_ ? sent.stamp_ns : delays_.near_clock_ns(sent), begin_ns_);
  }

  /// The flows with most losses, of these those with most frames.
  void choose_flows() {
    const auto note = [this](std::uint32_t flow, bool lost) {
      auto& [losses, frames] = frames_of_[flow];
      losses += lost;
      ++frames;
    };
    for (const Match& m : pair_.found.matching.matches)
      if (m.goes_far == goes_far_) note(pair_.near[m.near].flow, false);
    for (const Unmatched& frame : pair_.found.matching.unmatched)
      if (is_lost(frame)) note(sent(frame.order).flow, true);
    using Counts = std::pair<std::uint64_t, std::uint64_t>;
    std::vector<std::pair<Counts, std::uint32_t>> worst;
    for (const auto& [flow, counts] : frames_of_) worst.emplace_back(counts, flow);
    std::ranges::sort(worst, std::greater{});
    worst.resize(std::min(worst.size(), kMostPlottedFlows));
    for (const auto& [counts, flow] : worst) flows_[flow];
  }

  template <class Note>
  void note(std::uint32_t flow, Note each) {
    each(all_);
    if (const auto at = flows_.find(flow); at != flows_.end()) each(at->second);
  }
  void add(const Match& m) {
    const CaptureRecord near = pair_.near[m.near], far = pair_.far[m.far];
    const auto delay = delays_.delay_ns(near, far, goes_far_);
    if (!delay) return;
    const CaptureRecord& from = goes_far_ ? near : far;
    note(from.flow, [&](FlowPicture& picture) {
      picture.delays.add({time_of(from), *delay, from.number});
      ++picture.bins[bins_.of(*delay)];
    });
  }
  void add_loss(const CaptureRecord& frame) {
    note(frame.flow, [&](FlowPicture& picture) {
      picture.losses.add({time_of(frame), frame.number, frame.number});
    });
  }

  /// Outages and steps of the delay, each with its sentence.
  [[nodiscard]] Json moments() const {
    Json all = Json::array();
    const auto add = [&](std::int64_t stamp_ns, const std::string& text) {
      CaptureRecord at{};
      at.stamp_ns = stamp_ns;
      all.push_back({{"t", time_of(at)}, {"text", text}});
    };
    for (const PathOutage& outage : pair_.found.changes.outages) {
      if (outage.goes_far != goes_far_) continue;
      add(outage.begin_ns, fmt::format("{}: {}", outage.name(), outage.words()));
      add(outage.end_ns, fmt::format("end of the {}: the last of its packets", outage.name()));
    }
    for (const PathPeriod& period : pair_.found.changes.periods)
      if (period.goes_far == goes_far_)
        add(period.begin_ns, fmt::format("{}: {}", name_of(period.kind), period.words()));
    for (const DelayChange& step : pair_.found.changes.steps)
      if (step.by_ns[goes_far_ ? 1 : 0] != 0 && (goes_far_ || step.by_ns[1] == 0))
        add(step.at_ns, "delay " + step.words());
    return all;
  }

  [[nodiscard]] Json lost_frames() const {
    TableJson table;
    for (const LostFrame& one : result_.lost_frames) {
      CaptureRecord at{};
      at.stamp_ns = one.stamp_ns;
      table.add({{"frame", one.number},
                 {"time_ns", time_of(at)},
                 {"flow", flow_text(one.flow)},
                 {"packet", roce::opcode_text(one.opcode)},
                 {"psn", one.psn}});
    }
    return table.finish(result_.lost);
  }

  PicturedPair pair_;
  bool goes_far_;
  const DirectionResult& result_;
  MatchDelays delays_;
  DelayBins bins_;
  std::int64_t begin_ns_ = std::numeric_limits<std::int64_t>::max();
  /// Lost and all frames that were sent, by flow.
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> frames_of_;
  FlowPicture all_;
  std::map<std::uint32_t, FlowPicture> flows_;
};

}  // namespace

Json direction_picture(const PicturedPair& pair, bool goes_far, const std::string& name) {
  return Painter(pair, goes_far).paint(name);
}

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/questions/rate_evidence.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/explain/questions/link_evidence.h"

namespace lw::dissect {
namespace {

using analysis::Session;
using analysis::StreamCounts;

constexpr double kLeastRate = 1e9;  // b/s: links are not slower

/// The connection's direction with the longest queue.
const StreamCounts* fullest(const Evidence& evidence) {
  const StreamCounts* most = nullptr;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      const auto queue = direction.stream->counts().standing_queue();
      if (queue && (most == nullptr || queue->time > most->standing_queue()->time))
        most = &direction.stream->counts();
    }
  return most;
}

/// A direction whose packets came at an even rate and were answered at once, as behind a full link:
/// the one with the most payload. Null: none, or nothing else than the rate is known of it.
const StreamCounts* even_stream(const Evidence& evidence) {
  constexpr std::int64_t kAtOnce = 10'000;  // ns
  const LinkRate link = link_rate_of(evidence);
  const StreamCounts* most = nullptr;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      const StreamCounts& counts = direction.stream->counts();
      if (counts.rtt.count() == 0 || counts.reads > 0 || counts.held_by_window()) continue;
      const bool at_once = counts.rtt.quantile(0.5) <= kAtOnce || counts.idle_share() >= 0.5;
      if (!at_once || counts.goodput() < kLeastRate || !counts.flight.is_even()) continue;
      if (link.is_stated() && 2 * counts.goodput() < link.rate) continue;  // it is not full
      if (most == nullptr || counts.payload > most->payload) most = &counts;
    }
  return most;
}

}  // namespace

double longest_queue_bytes(const Evidence& evidence) {
  const StreamCounts* const counts = fullest(evidence);
  if (counts == nullptr) return 0;
  const auto queue = counts->standing_queue();
  return queue->rate * counts->bytes_of_packet() * static_cast<double>(queue->time.count()) / 1e9;
}

std::string longest_queue_text(const Evidence& evidence) {
  const StreamCounts* const counts = fullest(evidence);
  if (counts == nullptr) return {};
  const auto queue = counts->standing_queue();
  return fmt::format(" ({} at {}, {})", format_bytes(longest_queue_bytes(evidence)),
                     format_bit_rate(queue->rate * counts->bytes_of_packet() * 8),
                     format_duration(queue->time));
}

std::string even_rate_reason(const Evidence& evidence) {
  const StreamCounts* const even = even_stream(evidence);
  if (even == nullptr) return {};
  return fmt::format(
      "nothing was lost or marked, but packets came at an even {} and were answered after {} "
      "(median): a full link before this point looks like that, and so does a sender that sends at "
      "this rate. A capture at the sender tells.",
      format_bit_rate(even->goodput()), format_duration(Duration{even->rtt.quantile(0.5)}));
}

std::string busy_link_reason(const Evidence& evidence) {
  constexpr std::uint64_t kEnough = 128;  // packets
  const LinkRate link = link_rate_of(evidence);
  const std::vector<analysis::LinkLoad>& loads = evidence.analyst.loads();
  const auto busy = [&link](const analysis::LinkLoad& load) {
    return load.busy_packets(link.is_stated() ? link.rate : load.most());
  };
  const auto most = std::ranges::max_element(loads, {}, busy);
  if (most == loads.end() || busy(*most) < kEnough || most->most() < kLeastRate) return {};
  return fmt::format(
      "nothing was lost or marked, but {} packets of several hosts came to one host at three "
      "quarters, or more, of {}: a full link to it looks like that. A capture on that link, or the "
      "counters of its port, tell.",
      busy(*most),
      link.is_stated() ? "the link's rate, " + link.text()
                       : fmt::format("the highest rate that 16 packets in a row have here ({})",
                                     format_bit_rate(most->most())));
}

std::string possible_queue_reason(const Evidence& evidence) {
  const StreamCounts* most = nullptr;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      const StreamCounts& counts = direction.stream->counts();
      const auto queue = counts.flight.possible_queue();
      if (!queue || queue->rate * counts.bytes_of_packet() * 8 < kLeastRate) continue;
      if (most == nullptr || counts.payload > most->payload) most = &counts;
    }
  if (most == nullptr) return {};
  return fmt::format(
      "nothing was lost or marked, but round trips grew from {} to {} (median {}): packets waited "
      "in "
      "a queue, or their receiver needed that time. A capture at the receiver tells.",
      format_duration(Duration{most->rtt.minimum()}),
      format_duration(Duration{most->rtt.maximum()}),
      format_duration(Duration{most->rtt.quantile(0.5)}));
}

std::string unclear_rate_reason(const Evidence& evidence) {
  std::string even = even_rate_reason(evidence);
  return even.empty() ? busy_link_reason(evidence) : even;
}

std::string idle_time_text(const Evidence& evidence) {
  constexpr std::uint64_t kEnough = 16;  // round trips
  const StreamCounts* most = nullptr;
  std::uint32_t number = 0;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      const StreamCounts& counts = direction.stream->counts();
      if (most != nullptr && counts.payload <= most->payload) continue;
      most = &counts;
      number = session.number;
    }
  if (most == nullptr || most->rtt.count() < kEnough || most->idle_share() < 0.5) return {};
  return fmt::format(
      "; for {:.0f} % of the time nothing of connection {} was in flight here, so its application, "
      "or "
      "the way from here to its sender, bounds its rate ({})",
      100 * most->idle_share(), number, format_bit_rate(most->goodput()));
}

}  // namespace lw::dissect

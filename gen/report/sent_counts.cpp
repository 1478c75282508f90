// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/sent_counts.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/figure.h"
#include "core/json.h"
#include "gen/report/run_report.h"
#include "gen/traffic/flow_cursor.h"
#include "report/figures/read_json.h"

namespace lw::gen {
namespace {

constexpr std::uint64_t kMostBatches = 20'000'000;  // a second or two of work
constexpr std::uint32_t kLongestBatch = 0xffff;

/// Counts the frames of a cursor's next batch, and moves past it. Returns false at the end.
bool count_batch(FlowCursor& cursor, FlowCounters& counters) {
  FieldSteps steps;
  const std::uint64_t frames = cursor.begin_batch(kLongestBatch, steps).frames;
  counters.frames += frames;
  if (cursor.lacks_signature()) counters.unsigned_frames += frames;
  if (cursor.fault()) counters.faults[static_cast<std::size_t>(*cursor.fault())] += frames;
  if (cursor.ends_message()) counters.messages += frames;
  return cursor.end_batch();
}

/// Counts the first message and multiplies, because all messages are equal.
FlowCounters count_regular(FlowCursor& cursor) {
  const std::uint64_t total = *cursor.total_frames();
  FlowCounters counters;
  while (counters.messages == 0 && count_batch(cursor, counters)) {
  }
  const std::uint64_t per_message = counters.frames / std::max<std::uint64_t>(1, counters.messages);
  const std::uint64_t is_unsigned =
      counters.unsigned_frames / std::max<std::uint64_t>(1, counters.messages);
  counters.messages = total / std::max<std::uint64_t>(1, per_message);
  counters.frames = total;
  counters.unsigned_frames = is_unsigned * counters.messages;
  return counters;
}

std::optional<FlowCounters> count_flow(const config::Flow& flow, LayoutCache& layouts,
                                       PayloadPool& payloads, std::uint64_t& batches) {
  if (!flow.repeat && !flow.stop_after) return std::nullopt;
  FlowCursor cursor(flow, layouts, payloads);
  FlowCounters counters;
  if (!cursor.has_next()) return counters;
  if (flow.repeat && !flow.stop_after && !flow.faults && cursor.is_regular())
    return count_regular(cursor);
  for (; batches < kMostBatches; ++batches) {
    if (!count_batch(cursor, counters)) return counters;
  }
  return std::nullopt;
}

/// The part of a sender's report that is read.
struct SenderReport {
  std::vector<SentFlow> flows;
  static const FigureTable& figures();
};

const FigureTable& SenderReport::figures() {
  using Row = FigureOf<SenderReport>;
  static constexpr Figure kRows[] = {Row::of<&SenderReport::flows>("flows", "A row a [[flow]].")};
  static constexpr FigureTable kTable{"The report of a sender.", kRows};
  return kTable;
}

/// Sets the counters of one [[flow]], or of its QPs. Returns what is wrong; empty: nothing.
std::string set_counts(const SentFlow& flow, const config::Flow& first, SentCounts& counts) {
  if (flow.name != first.name) return fmt::format("flow \"{}\"", flow.name);
  if (first.qps == 1) {
    counts[first.id] = flow.counters;
    return {};
  }
  for (const SentQp& qp : flow.qps) {
    if (qp.id >= counts.size()) return fmt::format("a QP with number {}", qp.id);
    counts[qp.id] = qp.counters;
  }
  return {};
}

Error foreign(const std::string& source, const config::FlowProfile& profile,
              const std::string& found) {
  return Error{
      fmt::format("{}: expected the report of a sender of profile \"{}\", found {}; give "
                  "the file that `roce-gen run ... --json` wrote",
                  source, profile.name, found)};
}

/// Number of distinct damaged frames with a number in [next, end).
std::uint64_t damaged_between(const ReceiveFlow& flow, std::uint64_t next, std::uint64_t end) {
  std::vector<std::uint64_t> numbers = flow.signature->damaged;
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return static_cast<std::uint64_t>(std::ranges::count_if(
      numbers, [&](std::uint64_t number) { return number >= next && number < end; }));
}

/// Number of the sender's frames that have a signature.
std::uint64_t signed_frames(const FlowCounters& sent) {
  return sent.frames - std::min(sent.frames, sent.unsigned_frames);
}

/// Number of the signed frames that never came: gaps in the sequence, and those after the newest,
/// unless they came damaged.
std::uint64_t missing_of(const ReceiveFlow& flow, const FlowCounters& sent) {
  const std::uint64_t end = signed_frames(sent);
  const std::uint64_t next = std::min(end, flow.tracker.next());
  const std::uint64_t after = end - next;
  const std::uint64_t at_end = after - std::min(after, damaged_between(flow, next, end));
  return std::min(end, flow.order.lost + at_end);
}

/// Returns the reason why a flow's last frame is unknown; empty if it is known.
std::string unknown_end(const config::Flow& flow, const std::optional<FlowCounters>& sent) {
  if (sent) return {};
  const std::string_view why =
      flow.repeat || flow.stop_after ? "it has too many frames to count" : "it repeats forever";
  return fmt::format(
      "{}: --sent FILE.json with the sender's report (run --json or --report-to) is needed", why);
}

void set_signed(FlowRow& row, const FlowCounters& sent, bool joined) {
  row.missing = row.absent ? signed_frames(sent) : missing_of(*row.flow, sent);
  if (!joined) row.sent = sent.frames;
}

/// A flow without signatures: PSNs show its gaps, and the number of its frames whether the last
/// ones are there.
void set_unsigned(FlowRow& row, const FlowCounters& sent) {
  const ReceiveFlow& flow = *row.flow;
  const std::uint64_t came =
      flow.frames + flow.bad_icrc - std::min(flow.frames, flow.order.duplicated);
  row.sent = sent.frames;
  const std::uint64_t gaps = row.shares_psns ? 0 : flow.order.lost;
  row.missing = std::max(std::min(gaps, sent.frames), sent.frames - std::min(sent.frames, came));
}

/// The flows of a profile by the streams of those without signatures; none for a stream that
/// several have.
std::unordered_map<StreamKey, const config::Flow*, StreamKeyHash> plain_flows(
    const config::FlowProfile& profile) {
  std::unordered_map<StreamKey, const config::Flow*, StreamKeyHash> flows;
  for (const config::Flow& flow : profile.flows) {
    if (flow.signature) continue;
    const auto [place, is_new] = flows.try_emplace(plain_stream(flow), &flow);
    if (!is_new) place->second = nullptr;
  }
  return flows;
}

}  // namespace

SentCounts planned_counts(const config::FlowProfile& profile) {
  LayoutCache layouts;
  PayloadPool payloads(profile.seed);
  SentCounts counts;
  std::uint64_t batches = 0;
  for (const config::Flow& flow : profile.flows)
    counts.push_back(count_flow(flow, layouts, payloads, batches));
  return counts;
}

Result<SentCounts> parse_sent_counts(std::string_view text, const std::string& source,
                                     const config::FlowProfile& profile) {
  SentCounts counts(profile.flows.size());
  SenderReport sender;
  if (const auto read = report::read_json(parse_json(text), sender); !read)
    return std::unexpected(foreign(source, profile, fmt::format("other text ({})", read.error())));
  auto flow = sender.flows.begin();
  for (std::size_t i = 0; i < counts.size(); i += profile.flows[i].qps, ++flow) {
    const std::string wrong =
        flow == sender.flows.end() ? "fewer flows" : set_counts(*flow, profile.flows[i], counts);
    if (!wrong.empty()) return std::unexpected(foreign(source, profile, wrong));
  }
  return counts;
}

void set_sent(std::span<FlowRow> rows, const config::FlowProfile& profile, const SentCounts& counts,
              bool joined) {
  const auto plain = plain_flows(profile);
  for (FlowRow& row : rows) {
    const StreamKey& stream = row.flow->stream;
    const std::uint32_t id = stream.key.dest_qp;
    if (stream.is_signed) {
      if (id >= counts.size()) continue;
      row.unknown_end = unknown_end(profile.flows[id], counts[id]);
      if (counts[id]) set_signed(row, *counts[id], joined);
      continue;
    }
    const auto known = plain.find(stream);
    if (known == plain.end()) continue;
    const bool countable = known->second != nullptr && counts[known->second->id] && !joined;
    if (countable)
      set_unsigned(row, *counts[known->second->id]);
    else
      row.unknown_end = "its frames have no signature";
  }
}

}  // namespace lw::gen

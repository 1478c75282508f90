// SPDX-License-Identifier: BSD-3-Clause
// What bounds the rate: a fault, a limit of the sender, a link, or the application?
#include "dissect/explain/questions/rate.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/explain/questions/rate_evidence.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Session;
using analysis::StreamCounts;

// Statements.

/// "16 x 65.54 kB in a round trip of 2 ms (median) are 4.2 Gb/s". Empty if `size`, the bytes of
/// each of the `most` things outstanding, or the round trip is unknown.
std::string rate_bound_text(const StreamCounts& counts, std::uint64_t most, double size) {
  const std::int64_t rtt = counts.rtt.quantile(0.5);
  if (size <= 0 || rtt <= 0) return {};
  const double bound = static_cast<double>(most) * size * 8e9 / static_cast<double>(rtt);
  return fmt::format(
      " {} x {} in a round trip of {} (median) are {} (goodput {}): the link may be faster, the "
      "connection is not.",
      most, format_bytes(size), format_duration(Duration{rtt}), format_bit_rate(bound),
      format_bit_rate(counts.goodput()));
}

double average_of(std::uint64_t bytes, std::uint64_t count) noexcept {
  return count == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(count);
}

std::string read_limit_text(const Evidence& evidence, const Anomaly& anomaly,
                            const StreamCounts& counts) {
  const auto reads =
      evidence.messages.find({anomaly.session, anomaly.direction, wire::Operation::read_request});
  const double size = reads == evidence.messages.end()
                          ? 0
                          : average_of(reads->second.bytes, reads->second.messages);
  const std::string bound = rate_bound_text(counts, counts.most_reads, size);
  return fmt::format(
      "Connection {} is held by a limit: it never has more than {} outstanding, and "
      "reached that {}.{}{}",
      anomaly.session, counted_fetches(counts.most_reads), counted(counts.reads_at_most, "time"),
      bound, bound.empty() ? "" : " Larger READs, more connections, or a higher limit help.");
}

std::string full_link_text(const Anomaly& anomaly, const StreamCounts& counts) {
  const auto queue = counts.standing_queue();
  if (!queue) return {};
  const double size = counts.bytes_of_packet();
  const double waits = queue->rate * static_cast<double>(queue->time.count()) / 1e9;
  return fmt::format(
      "Connection {} fills a link of its path, or its receiver takes no more: {} (goodput {}). Its "
      "round trip grew from {} (shortest) to {} (median) with the data in flight, at the same "
      "rate: of {} in flight, {} wait in a queue, for {}. A deeper send queue makes that queue "
      "longer, not the rate higher.",
      anomaly.session, format_bit_rate(queue->rate * size * 8), format_bit_rate(counts.goodput()),
      format_duration(Duration{counts.rtt.minimum()}),
      format_duration(Duration{counts.rtt.quantile(0.5)}), format_bytes(queue->in_flight * size),
      format_bytes(waits * size), format_duration(queue->time));
}

std::string window_text(const Anomaly& anomaly, const StreamCounts& counts) {
  if (anomaly.cause == Cause::full_link) return full_link_text(anomaly, counts);
  const std::uint64_t again = counts.resent + counts.duplicates;
  const std::uint64_t once = counts.packets > again ? counts.packets - again : 0;
  const std::string bound =
      rate_bound_text(counts, counts.most_outstanding, average_of(counts.payload, once));
  return fmt::format(
      "Connection {} is held by a limit: it never has more than {} packets of SENDs and WRITEs "
      "outstanding, and waited for ACKs there {} times, {:.0f} % of the time.{} More outstanding "
      "messages (a deeper send queue), larger ones, or more connections help.",
      anomaly.session, counts.most_outstanding, counts.held, 100 * counts.held_share(), bound);
}

Statement plateau_statement(const Evidence& evidence, const Anomaly& anomaly) {
  const Session& session = session_of(evidence, anomaly);
  const StreamCounts& counts = session.directions[anomaly.direction].stream->counts();
  const std::string text = counts.held_by_reads() ? read_limit_text(evidence, anomaly, counts)
                                                  : window_text(anomaly, counts);
  return {.severity = Severity::note,
          .topic = std::string(name_of(anomaly.kind)),
          .text = at_point(evidence, point_of(evidence.analyst, session)) + text,
          .frames = {anomaly.frame},
          .sessions = {anomaly.session},
          .events = 1,
          .packets = anomaly.packets,
          .show = "connections --json",
          .question = OperatorQuestion::rate};
}

// The answer: of the session with the most payload.

struct Bound {
  const Session* session = nullptr;
  const StreamCounts* counts = nullptr;
  Duration span{}, recovering{};  // of that session; `recovering`: its recoveries, some at once
  bool full_link = false, window = false, reads = false;
  bool even =
      false;  // it came at an even rate: a full link before this point, or a sender that paces

  [[nodiscard]] double share() const noexcept {
    if (span <= Duration{}) return 0;
    return std::min(1.0,
                    static_cast<double>(recovering.count()) / static_cast<double>(span.count()));
  }
};

Bound largest_of(const Evidence& evidence) {
  Bound bound;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      const StreamCounts& counts = direction.stream->counts();
      if (bound.counts != nullptr && counts.payload <= bound.counts->payload) continue;
      bound.session = &session;
      bound.counts = &counts;
      bound.span = stamp_difference(counts.last, counts.first);
    }
  return bound;
}

Bound bound_of(const Facts& facts) {
  Bound bound = largest_of(facts.evidence);
  if (bound.session == nullptr) return bound;
  for (const Anomaly& anomaly : facts.evidence.anomalies) {
    if (anomaly.session != bound.session->number) continue;
    if (anomaly.kind == AnomalyKind::retransmission && anomaly.role == wire::Role::request)
      bound.recovering = sum_of(bound.recovering, std::max(anomaly.duration, Duration{}));
    if (anomaly.kind != AnomalyKind::window_plateau) continue;
    bound.full_link = bound.full_link || anomaly.cause == Cause::full_link;
    bound.reads = bound.reads || bound.counts->held_by_reads();
    bound.window = bound.window || anomaly.cause != Cause::full_link;
  }
  bound.even = !even_rate_reason(facts.evidence).empty();
  return bound;
}

constexpr double kMuch = 0.1;              // share of the time in recoveries
constexpr double kIdle = 0.5;              // share of the time with nothing in flight
constexpr std::uint64_t kEnoughRtts = 16;  // round trips

bool is_idle(const Bound& b) {
  return b.counts->rtt.count() >= kEnoughRtts && b.counts->idle_share() >= kIdle;
}

constexpr AnswerRow<Bound> kRateRows[] = {
    {[](const Bound& b) { return b.session == nullptr || b.counts->payload == 0; },
     Health::cannot_tell, "no data were followed"},
    {[](const Bound& b) { return b.share() >= kMuch; }, Health::wrong,
     "recoveries: they took {recovering} of the {span} of connection {session} ({goodput})"},
    {[](const Bound& b) { return b.full_link; }, Health::fine,
     "a full link of the path of connection {session}, or its receiver ({goodput})"},
    {[](const Bound& b) { return b.reads; }, Health::fine,
     "the limit of outstanding READs and atomics of connection {session} ({goodput})"},
    {[](const Bound& b) { return b.window; }, Health::fine,
     "the limit of outstanding packets of connection {session} ({goodput})"},
    {[](const Bound& b) { return is_idle(b); }, Health::fine,
     "the application, or the way from here to its sender: for {idle:.0f} % of the time nothing of "
     "connection "
     "{session} was in flight here ({goodput})"},
    {[](const Bound& b) { return b.counts->rtt.count() < kEnoughRtts; }, Health::cannot_tell,
     "too few round trips of connection {session} were captured ({goodput})"},
    {[](const Bound& b) { return b.even; }, Health::cannot_tell,
     "packets of connection {session} came at an even rate ({goodput}): a full link before this "
     "point, or its "
     "sender's own pace"},
    {[](const Bound&) { return true; }, Health::cannot_tell,
     "connection {session} ({goodput}) reaches no limit that shows here: neither of outstanding "
     "packets, nor of "
     "a link"},
};

}  // namespace

Answer ask_rate(const Facts& facts) {
  std::vector<Statement> statements;
  for (const Anomaly& anomaly : facts.evidence.anomalies)
    if (anomaly.kind == AnomalyKind::window_plateau)
      statements.push_back(plateau_statement(facts.evidence, anomaly));
  const Bound bound = bound_of(facts);
  Words words;
  words.add("session", bound.session != nullptr ? bound.session->number : 0U);
  words.add("recovering", rounded(bound.recovering));
  words.add("span", rounded(bound.span));
  words.add("idle", bound.counts != nullptr ? 100 * bound.counts->idle_share() : 0.0);
  words.add("goodput",
            bound.counts != nullptr ? format_bit_rate(bound.counts->goodput()) : std::string());
  return answer_of<Bound>(OperatorQuestion::rate, kRateRows, bound, words, std::move(statements));
}

}  // namespace lw::dissect

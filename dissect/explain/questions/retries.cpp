// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/questions/retries.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using analysis::OpenRequests;
using analysis::RetryWaits;

/// The code of a QP's timer that ran for `wait`: 4.096 us, doubled as often. (IBTA vol.
/// 1, 11.2.4.2)
std::optional<int> timeout_code(Duration wait) {
  constexpr double kUnit = 4096, kTolerance = 0.03;
  if (wait <= Duration{}) return std::nullopt;
  const double code = std::log2(static_cast<double>(wait.count()) / kUnit);
  const double nearest = std::round(code);
  const bool fits = std::abs(std::exp2(code - nearest) - 1) < kTolerance;
  if (!fits || nearest < 1 || nearest > 31) return std::nullopt;
  return static_cast<int>(nearest);
}

}  // namespace

std::vector<OpenEnd> open_ends(const Evidence& evidence) {
  std::vector<OpenEnd> all;
  for (const analysis::Session& session : evidence.analyst.sessions())
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}}) {
      const auto& stream = session.directions[direction].stream;
      if (stream && stream->open_requests() && stream->open_requests()->reported)
        all.push_back({&session, direction, &*stream->open_requests()});
    }
  return all;
}

std::string retries_text(const RetryWaits& waits) {
  if (waits.count == 0) return "sent once";
  const std::string retries = waits.count == 1 ? "1 retry" : fmt::format("{} retries", waits.count);
  constexpr int kSpread = 10;  // divided by: what timers vary
  const bool even = waits.longest - waits.shortest <= waits.longest / kSpread;
  if (!even)
    return fmt::format("{}, {} to {} apart", retries, rounded(waits.shortest),
                       rounded(waits.longest));
  const auto code = timeout_code(waits.shortest);
  return fmt::format("{}, {} {}{}", retries, rounded(waits.longest),
                     waits.count == 1 ? "later" : "apart",
                     code ? fmt::format(" (timeout {})", *code) : "");
}

bool was_given_up(const Evidence& evidence, const OpenRequests& open) {
  constexpr std::uint32_t kMostRetries = 7;  // what a QP can be set to
  if (open.waits.count == 0) return false;
  if (open.waits.count >= kMostRetries) return true;
  const Duration silence = stamp_difference(evidence.totals.last, open.last);
  return silence / 2 > open.waits.longest;
}

bool is_part_of_unanswered(const Facts& facts, const AnomalyGroup& group) {
  const bool of_timer = group.kind == AnomalyKind::retry_storm ||
                        std::ranges::any_of(group.alternatives, [](const auto& one) {
                          return one.cause == Cause::peer_stopped || one.cause == Cause::timeout;
                        });
  if (!of_timer || group.sessions.empty()) return false;
  const std::vector<OpenEnd> ends = open_ends(facts.evidence);
  return std::ranges::all_of(group.sessions, [&](std::uint32_t number) {
    return std::ranges::any_of(ends,
                               [&](const OpenEnd& end) { return end.session->number == number; });
  });
}

std::string response_sizes(const Facts& facts, const AnomalyGroup& group) {
  std::set<std::string> sizes;
  for (const std::uint32_t number : group.sessions)
    for (const auto& direction : facts.evidence.analyst.sessions()[number - 1].directions) {
      if (direction.flow == analysis::QpFlow::kNone) continue;
      const std::uint32_t mtu = facts.evidence.analyst.flows()[direction.flow].mtu.of_responses();
      if (mtu > 0) sizes.insert(fmt::format("{} bytes", mtu));
    }
  return sizes.empty() ? "" : fmt::format(" ({})", fmt::join(sizes, ", "));
}

}  // namespace lw::dissect

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/setup/connection_setup.h"

#include <algorithm>

#include <fmt/format.h>

#include "wire/cm.h"

namespace lw::analysis {

std::string_view name_of(SetupEnd end) noexcept {
  constexpr std::string_view kNames[] = {"before",   "open",        "unanswered",
                                         "rejected", "unconfirmed", "done"};
  return kNames[static_cast<std::size_t>(end)];
}

const ConnectionSetup::Messages& ConnectionSetup::rejects() const noexcept {
  const Messages& by_replier = of(kReplier, Step::rej);
  return by_replier.count > 0 ? by_replier : of(kRequester, Step::rej);
}

std::optional<std::uint8_t> ConnectionSetup::disconnected_by() const noexcept {
  const Messages& one = of(kRequester, Step::dreq);
  const Messages& other = of(kReplier, Step::dreq);
  if (one.count == 0 && other.count == 0) return std::nullopt;
  if (one.count == 0 || other.count == 0) return one.count == 0 ? kReplier : kRequester;
  return one.first <= other.first ? kRequester : kReplier;
}

bool ConnectionSetup::is_disconnect_unanswered() const noexcept {
  const auto side = disconnected_by();
  constexpr std::uint32_t kSeveral = 3;
  return side && of(*side, Step::dreq).count >= kSeveral &&
         of(kRequester, Step::drep).count + of(kReplier, Step::drep).count == 0 &&
         of(1 - *side, Step::dreq).count == 0;
}

bool ConnectionSetup::is_withdrawn() const noexcept {
  return !of_service && reject && !reply && of(kReplier, Step::rej).count == 0;
}

SetupEnd ConnectionSetup::end() const noexcept {
  if (is_withdrawn()) return SetupEnd::unanswered;
  if (reject) return SetupEnd::rejected;
  if (has_traffic || of(kRequester, Step::rtu).count > 0 || (of_service && reply))
    return request || reply ? SetupEnd::done : SetupEnd::before;
  // Packets of the connection show that it came up, also where its RTU was lost.
  if (reply) {
    const bool disconnected = disconnected_by().has_value();
    return disconnected || !asked_enough ? SetupEnd::open : SetupEnd::unconfirmed;
  }
  if (!request) return SetupEnd::before;
  return asked_enough || refused_by != 0 ? SetupEnd::unanswered : SetupEnd::open;
}

std::optional<Duration> ConnectionSetup::duration() const noexcept {
  const Messages& rep = of(kReplier, Step::rep);
  const Messages& rtu = of(kRequester, Step::rtu);
  if (requests().count == 0 || rep.count == 0) return std::nullopt;
  return stamp_difference(rtu.count > 0 ? rtu.first : rep.first, requests().first);
}

std::uint64_t ConnectionSetup::first_frame() const noexcept {
  std::uint64_t frame = ~std::uint64_t{0};
  for (const auto& side : messages)
    for (const Messages& some : side)
      if (some.count > 0) frame = std::min(frame, some.first_frame);
  return frame;
}

Instant ConnectionSetup::first() const noexcept {
  Instant first = Instant::max();
  for (const auto& side : messages)
    for (const Messages& some : side)
      if (some.count > 0) first = std::min(first, some.first);
  return first;
}

std::string reject_text(const ConnectionSetup& setup) {
  if (!setup.reject) return {};
  const std::uint16_t code = setup.reject->reason;
  const std::string_view name = setup.of_service
                                    ? wire::sidr_status_name(static_cast<std::uint8_t>(code))
                                    : wire::reject_reason_name(code);
  return fmt::format("{} {}{}{}", setup.of_service ? "status" : "reason", code,
                     name.empty() ? "" : ", ", name);
}

}  // namespace lw::analysis

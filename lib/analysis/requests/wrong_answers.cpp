// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/wrong_answers.h"

#include <utility>

#include <fmt/format.h>

#include "analysis/requests/request_checks.h"

namespace lw::analysis {
namespace {

/// Whether a response without data answers a request: READ RESPONSE ONLY, as Linux does, or an ACK.
bool needs_no_data(std::uint8_t opcode) noexcept {
  const wire::Operation operation = wire::find_opcode(opcode)->operation;
  return operation == wire::Operation::flush || operation == wire::Operation::atomic_write;
}

/// Number of messages that end in [first, end); nothing: some packets there were not seen. A READ
/// ends with its request. (IBTA vol. 1, 9.7.7.1)
std::optional<std::uint32_t> messages_in(SentLog& log, Sequence first, Sequence end) {
  std::uint32_t messages = 0;
  bool all_seen = true;
  log.for_each(first, end, [&](const Sent& sent) {
    all_seen = all_seen && sent.seen;
    if (!sent.seen) return;
    const wire::Position position = wire::find_opcode(sent.opcode)->position;
    messages += position == wire::Position::last || position == wire::Position::only;
  });
  return all_seen ? std::optional(messages) : std::nullopt;
}

}  // namespace

bool WrongAnswers::hold(const CapturedPacket& packet, Sequence psn) {
  const auto newest = state_.fetched.newest_msn();
  if (!newest || !packet.has_aeth || held_ || state_.begin.may_repeat()) return false;
  const auto messages = messages_in(state_.log, state_.acked(), state_.next());
  if (!messages) return false;
  const wire::Psn most = wire::Psn{*newest} + *messages;
  if (wire::Psn::distance(most, wire::Psn{packet.msn}) > 0) return false;
  held_ = Held{packet, psn};
  return true;
}

std::optional<CapturedPacket> WrongAnswers::settle_by_request(Sequence psn) {
  if (!held_) return std::nullopt;
  const bool repeats = psn < state_.next();
  if (repeats && state_.silence() >= kShortestTimer) {
    report_held();
    return std::nullopt;
  }
  return take_held();
}

std::optional<CapturedPacket> WrongAnswers::settle_by_answer(const CapturedPacket& packet,
                                                             Sequence psn) {
  if (!held_) return std::nullopt;
  // ACKs have rising PSNs; the data of a READ may come again.
  if (psn >= held_->psn || packet.info->operation != wire::Operation::ack) return take_held();
  report_held();
  return std::nullopt;
}

std::optional<CapturedPacket> WrongAnswers::take_held() noexcept {
  if (!held_) return std::nullopt;
  return std::exchange(held_, std::nullopt)->packet;
}

void WrongAnswers::report_held() {
  const Held held = *std::exchange(held_, std::nullopt);
  report(held.packet, held.psn,
         fmt::format("{} of PSN {}, which was never sent: the newest request has PSN {}",
                     held.packet.info->name, psn_of(held.psn), psn_of(state_.next() - 1)),
         state_.acked(), state_.next());
}

bool WrongAnswers::take_in_place_of_data(const CapturedPacket& packet, Sequence psn) {
  const Sent* const request = state_.log.find(psn);
  if (request == nullptr || !request->seen || !request->fetches || !request->span_known)
    return false;
  if (needs_no_data(request->opcode) || request->responses > 0 || request->answered_before)
    return false;
  // A WRITE that comes again is acknowledged with the newest PSN, also that of a READ. A capture
  // that begins later does not show at once what comes again.
  const bool may_be_again =
      state_.counts.resent + state_.counts.duplicates > 0 || state_.begin.may_repeat();
  if (may_be_again && !refused(psn)) return false;
  report(packet, psn,
         fmt::format("an ACK in place of the data that {} (frame {}) asks for",
                     wire::find_opcode(request->opcode)->name, request->frame),
         request->psn, request->psn + request->span);
  return true;
}

bool WrongAnswers::take_of_other_mtu(const CapturedPacket& packet, Sequence psn) {
  const std::uint32_t mtu = state_.setup().request_mtu;
  if (mtu == 0) return false;
  const bool begins = packet.begins_message();
  if (!begins && next_of_other_mtu_ == psn) {
    ++*next_of_other_mtu_;
    return true;
  }
  const bool full = packet.info->payload == wire::PayloadRule::full;
  const bool fits = full ? packet.payload == mtu : packet.payload <= mtu;
  const Sent* const read = state_.log.find(psn);
  if (!begins || fits || !packet.complete || read == nullptr || !read->seen) return false;
  next_of_other_mtu_ = psn + 1;
  report(packet, psn,
         fmt::format("{} with {} bytes, and the path MTU of the requester is {} bytes",
                     packet.info->name, packet.payload, mtu),
         read->psn, read->psn + read->span);
  return true;
}

void WrongAnswers::take_to_other(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  if (request.fetches || request.reused || joined_) return;
  report(packet, psn,
         fmt::format("{} at the PSN of {} (frame {})", packet.info->name,
                     wire::find_opcode(request.opcode)->name, request.frame),
         state_.acked(), state_.next());
}

void WrongAnswers::report(const CapturedPacket& packet, Sequence psn, std::string wrong,
                          Sequence first, Sequence end) {
  refused_ = Refused{.first = first, .end = end, .frame = packet.number};
  state_.report.wrong_answer(packet, psn, std::move(wrong));
}

}  // namespace lw::analysis

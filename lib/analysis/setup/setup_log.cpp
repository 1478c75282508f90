// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/setup/setup_log.h"

#include <bit>
#include <cstring>

namespace lw::analysis {
namespace {

using wire::CmMessage;
using Step = ConnectionSetup::Step;

Step step_of(CmMessage message) noexcept {
  switch (message) {
    case CmMessage::mra:
      return Step::mra;
    case CmMessage::rep:
    case CmMessage::sidr_rep:
      return Step::rep;
    case CmMessage::rtu:
      return Step::rtu;
    case CmMessage::rej:
      return Step::rej;
    case CmMessage::dreq:
      return Step::dreq;
    case CmMessage::drep:
      return Step::drep;
    default:
      return Step::req;
  }
}

bool begins_setup(CmMessage message) noexcept {
  return message == CmMessage::req || message == CmMessage::sidr_req;
}

bool is_of_service(CmMessage message) noexcept {
  return message == CmMessage::sidr_req || message == CmMessage::sidr_rep;
}

void count_message(ConnectionSetup::Messages& messages, const SetupNote& note) noexcept {
  if (messages.count++ == 0) {
    messages.first_frame = note.number;
    messages.first = note.stamp;
  }
  messages.last_frame = note.number;
  messages.last = note.stamp;
}

/// Notes what a message says about the connection.
void note_contents(ConnectionSetup& setup, std::uint8_t side, const CmNote& cm) noexcept {
  auto& own_qp = side == ConnectionSetup::kRequester ? setup.requester_qp : setup.replier_qp;
  auto& other_qp = side == ConnectionSetup::kRequester ? setup.replier_qp : setup.requester_qp;
  switch (cm.message) {
    case CmMessage::req:
    case CmMessage::sidr_req:
      if (!setup.request) setup.request = cm;
      if (cm.message == CmMessage::req) own_qp = cm.qpn;
      return;
    case CmMessage::rep:
      setup.reply = cm;
      own_qp = cm.qpn;
      return;
    case CmMessage::sidr_rep:
      (cm.reason == 0 ? setup.reply : setup.reject) = cm;
      return;
    case CmMessage::rej:
      if (!setup.reject) setup.reject = cm;
      return;
    case CmMessage::dreq:
      if (!other_qp) other_qp = cm.qpn;
      return;
    default:
      return;
  }
}

}  // namespace

std::size_t SetupLog::EndKeyHash::operator()(const EndKey& key) const noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t words[4], hash = std::uint64_t{key.id} << 32 ^ key.point ^ key.of_service;
  std::memcpy(words, key.source.data(), 16);
  std::memcpy(words + 2, key.destination.data(), 16);
  for (const std::uint64_t word : words) hash = std::rotl((hash ^ word) * kOdd, 29);
  return hash;
}

void SetupLog::add(const SetupNote& note) {
  last_ = std::max(last_, note.stamp);
  if (const auto* cm = std::get_if<CmNote>(&note.what)) return add_cm(note, *cm);
  if (const auto* icmp = std::get_if<IcmpNote>(&note.what)) return add_icmp(note, *icmp);
  add_neighbour(note, std::get<NeighbourNote>(note.what));
}

/// Whether a request belongs to a set-up with its communication ID: it is sent once more. Otherwise
/// the ID is used again.
bool SetupLog::continues(const ConnectionSetup& setup, const CmNote& request) const noexcept {
  return setup.request && !setup.reject && !setup.disconnected_by() &&
         setup.request->qpn == request.qpn && setup.request->service_id == request.service_id;
}

/// Begins a set-up with its first captured message.
std::optional<SetupLog::End> SetupLog::begin(const SetupNote& note, const CmNote& cm) {
  if (setups_.size() == kMostSetups) {
    ++beyond_;
    return std::nullopt;
  }
  // Replies come from the replier; of others nothing shows which side it is.
  const bool by_replier = cm.message == CmMessage::rep || cm.message == CmMessage::sidr_rep ||
                          (cm.message == CmMessage::rej && cm.rejected == 0);
  const std::uint8_t side = by_replier ? ConnectionSetup::kReplier : ConnectionSetup::kRequester;
  setups_.push_back({.number = static_cast<std::uint32_t>(setups_.size() + 1),
                     .point = note.point,
                     .requester = by_replier ? cm.destination : cm.source,
                     .replier = by_replier ? cm.source : cm.destination,
                     .of_service = is_of_service(cm.message)});
  return End{static_cast<std::uint32_t>(setups_.size() - 1), side};
}

/// The side of a set-up that sent a message: by its own ID, or by that of the other end. An ID may
/// be used again: the newer set-up holds.
std::optional<SetupLog::End> SetupLog::end_of(const SetupNote& note, const CmNote& cm) {
  const bool of_service = is_of_service(cm.message);
  const EndKey own{cm.source, cm.destination, note.point, cm.local_id, of_service};
  const EndKey other{cm.destination, cm.source, note.point, cm.remote_id, of_service};
  std::optional<End> end;
  if (const auto known = ends_.find(own); known != ends_.end() && cm.local_id != 0)
    end = known->second;
  if (const auto peer = ends_.find(other); peer != ends_.end() && cm.remote_id != 0)
    if (!end || peer->second.setup > end->setup)
      end = End{peer->second.setup, static_cast<std::uint8_t>(1 - peer->second.side)};
  if (end && begins_setup(cm.message) && !continues(setups_[end->setup], cm)) end.reset();
  if (!end) end = begin(note, cm);
  if (!end) return end;
  if (cm.local_id != 0) note_id(own, *end);
  if (cm.remote_id != 0) note_id(other, {end->setup, static_cast<std::uint8_t>(1 - end->side)});
  return end;
}

void SetupLog::note_id(const EndKey& key, End end) {
  if (const auto known = ends_.find(key); known != ends_.end())
    known->second = end;
  else if (ends_.size() < kMostNames)
    ends_.emplace(key, end);
  else
    ++beyond_;
}

void SetupLog::add_cm(const SetupNote& note, const CmNote& cm) {
  const auto end = end_of(note, cm);
  if (!end) return;
  ConnectionSetup& setup = setups_[end->setup];
  count_message(setup.of(end->side, step_of(cm.message)), note);
  note_contents(setup, end->side, cm);
  note_qps(end->setup);
}

/// Enters a set-up for the flows to its QPs, as far as these are known.
void SetupLog::note_qps(std::uint32_t index) {
  const ConnectionSetup& setup = setups_[index];
  const auto enter = [&](const HostAddress& source, const HostAddress& destination,
                         std::optional<std::uint32_t> qp) {
    if (qp)
      note_flow({.source = source, .destination = destination, .qp = *qp, .point = setup.point},
                index);
  };
  enter(setup.requester, setup.replier, setup.replier_qp);
  enter(setup.replier, setup.requester, setup.requester_qp);
}

void SetupLog::note_flow(const QpFlowKey& flow, std::uint32_t setup) {
  auto known = by_flow_.find(flow);
  if (known == by_flow_.end() && by_flow_.size() == kMostNames) {
    ++beyond_;
    return;
  }
  if (known == by_flow_.end()) known = by_flow_.try_emplace(flow).first;
  if (auto& all = known->second; all.empty() || all.back() != setup) all.push_back(setup);
}

const ConnectionSetup* SetupLog::find(const QpFlowKey& flow, std::uint64_t begin) const {
  const auto known = by_flow_.find(flow);
  if (known == by_flow_.end()) return nullptr;
  const ConnectionSetup* found = nullptr;
  for (const std::uint32_t index : known->second) {
    const ConnectionSetup& setup = setups_[index];
    const bool answered =
        setup.reply && setup.of(ConnectionSetup::kReplier, Step::rep).first_frame <= begin;
    const bool ended = !setup.request && !setup.reply;
    if (answered || (ended && found == nullptr && setup.first_frame() >= begin)) found = &setup;
  }
  return found;
}

void SetupLog::add_icmp(const SetupNote& note, const IcmpNote& icmp) {
  const Refused key{note.point,  icmp.sender,      icmp.type, icmp.code,
                    icmp.source, icmp.destination, icmp.qp};
  const auto known = refusal_places_.find(key);
  if (known == refusal_places_.end() && refusals_.size() == kMostRefusals) {
    ++beyond_;
    return;
  }
  if (known == refusal_places_.end()) {
    refusal_places_.emplace(key, refusals_.size());
    refusals_.push_back(
        {.first = icmp, .point = note.point, .first_frame = note.number, .since = note.stamp});
  }
  IcmpRefusals& refusals =
      known == refusal_places_.end() ? refusals_.back() : refusals_[known->second];
  ++refusals.count;
  refusals.last_frame = note.number;
  refusals.until = note.stamp;
}

void SetupLog::add_neighbour(const SetupNote& note, const NeighbourNote& neighbour) {
  const std::pair key{note.point, neighbour.target};
  const auto known = addresses_.find(key);
  if (known == addresses_.end() && addresses_.size() == kMostTargets) {
    ++beyond_;
    return;
  }
  AddressRequests& requests = addresses_[key];
  requests.point = note.point;
  requests.target = neighbour.target;
  requests.v6 = neighbour.v6;
  if (!neighbour.asks) {
    ++requests.answers;
    requests.count = 0;
    return;
  }
  if (requests.count++ == 0) {
    requests.sender = neighbour.sender;
    requests.first_frame = note.number;
    requests.since = note.stamp;
  }
  requests.last_frame = note.number;
  requests.until = note.stamp;
}

std::vector<AddressRequests> SetupLog::addresses() const {
  std::vector<AddressRequests> all;
  for (const auto& [key, requests] : addresses_) all.push_back(requests);
  return all;
}

}  // namespace lw::analysis

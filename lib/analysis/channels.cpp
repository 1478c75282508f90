// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/channels.h"

#include <algorithm>

#include "wire/mad.h"

namespace lw::analysis {
namespace {

constexpr std::array<std::uint32_t, 5> kMtus = {256, 512, 1024, 2048, 4096};

std::int32_t distance(std::uint32_t from, std::uint32_t to) noexcept {
  return wire::Psn::distance(wire::Psn{from}, wire::Psn{to});
}

ChannelKey reversed(const ChannelKey& key) noexcept {
  return {.source = key.destination,
          .destination = key.source,
          .qp = key.source_qp,
          .source_qp = key.qp,
          .point = key.point};
}

/// Whether `psn` continues what the channel's packets were doing.
bool continues(const Channel& channel, const Packet& packet) noexcept {
  if (packet.is_request()) {
    if (!channel.has_requests) return true;
    return distance(channel.last_psn, packet.psn) >= -Channels::kFar &&
           distance(channel.end_psn, packet.psn) <= Channels::kFar;
  }
  if (!packet.is_response() || !channel.has_responses) return true;
  return std::abs(distance(channel.response_psn, packet.psn)) <= std::int32_t{1} << 22;
}

bool sent_exactly(const Channel& channel, std::uint32_t psn) noexcept {
  return distance(channel.first_psn, psn) >= 0 && distance(psn, channel.end_psn) > 0;
}

/// Allows for requests that the capture missed.
bool sent_about(const Channel& channel, std::uint32_t psn) noexcept {
  constexpr std::int32_t kMissed = 1024;
  return distance(channel.first_psn, psn) >= -kMissed && distance(psn, channel.end_psn) > -kMissed;
}

/// The PSN behind a READ tells the MTU: it is so many packets away.
void vote(Channel& channel, std::uint32_t following) noexcept {
  const auto [psn, length] = *channel.read;
  channel.read.reset();
  const std::int32_t away = distance(psn, following);
  std::size_t fits = 0, fitting = 0;
  for (std::size_t i = 0; i < kMtus.size(); ++i) {
    if (away <= 0 || read_span(length, kMtus[i]) != static_cast<std::uint32_t>(away)) continue;
    ++fits;
    fitting = i;
  }
  if (fits == 1) ++channel.mtu_votes[fitting];
}

bool is_cm(const roce::Frame& frame) noexcept {
  constexpr std::uint8_t kCommunicationManagement = 7;
  return frame.mad != nullptr && frame.mad->management_class.get() == kCommunicationManagement &&
         (frame.envelope.ipv4 != nullptr || frame.envelope.ipv6 != nullptr);
}

}  // namespace

std::string_view name_of(PairedBy paired) noexcept {
  constexpr std::string_view kNames[] = {"not paired", "connection manager", "queue pairs",
                                         "responses",  "source port",        "order"};
  return kNames[static_cast<std::size_t>(paired)];
}

Packet Channels::enter(const Sighting& sighting) {
  Packet packet = packet_of(sighting);
  packet.channel = find(channel_key(sighting), packet);
  Channel& channel = channels_[packet.channel];
  channel.encapsulation = sighting.frame.envelope.encapsulation();
  channel.good_icrcs += packet.good_icrc;
  channel.bad_icrcs += packet.bad_icrc;
  if (packet.bad_icrc || packet.info == nullptr) return packet;
  learn(channel, packet);
  if (packet.is_request()) learn_request(channel, packet);
  if (packet.is_response()) learn_response(packet.channel, packet);
  if (is_cm(sighting.frame)) learn_connection(sighting);
  return packet;
}

std::uint32_t Channels::find(const ChannelKey& key, const Packet& packet) {
  const auto known = current_.find(key);
  if (known == current_.end()) return begin(key);
  if (packet.bad_icrc || continues(channels_[known->second], packet)) return known->second;
  const std::uint32_t peer = channels_[known->second].peer;
  end(known->second);
  if (peer != Channel::kNone) end(peer);
  return begin(key);
}

std::uint32_t Channels::begin(const ChannelKey& key) {
  const auto index = static_cast<std::uint32_t>(channels_.size());
  channels_.push_back({.key = key});
  current_[key] = index;
  group_of(key, false).push_back(index);
  if (key.source_qp > 1) {
    const auto other = current_.find(reversed(key));
    if (other != current_.end()) pair(index, other->second, PairedBy::queue_pairs);
  }
  return index;
}

/// The next packet with this key begins a new channel.
void Channels::end(std::uint32_t channel) {
  const auto known = current_.find(channels_[channel].key);
  if (known != current_.end() && known->second == channel) current_.erase(known);
  std::erase(group_of(channels_[channel].key, false), channel);
}

std::vector<std::uint32_t>& Channels::group_of(const ChannelKey& key, bool reversed) {
  ChannelKey group{.source = key.source, .destination = key.destination, .point = key.point};
  if (reversed) std::swap(group.source, group.destination);
  return groups_[group];
}

void Channels::pair(std::uint32_t a, std::uint32_t b, PairedBy by) {
  Channel &one = channels_[a], &other = channels_[b];
  if (one.session != Channel::kNone && other.session != Channel::kNone) return;
  one.peer = b;
  other.peer = a;
  one.paired_by = other.paired_by = by;
  one.candidates.clear();
  other.candidates.clear();
  std::erase(group_of(one.key, false), a);
  std::erase(group_of(other.key, false), b);
}

void Channels::learn(Channel& channel, const Packet& packet) {
  channel.transport =
      packet.info->transport == wire::Transport::cnp ? channel.transport : packet.info->transport;
  if (!packet.complete) return;
  const bool full = packet.info->payload == wire::PayloadRule::full;
  std::uint32_t& mtu = packet.is_response() ? channel.response_mtu : channel.request_mtu;
  if (full && mtu == 0) mtu = packet.payload;
  if (!full) channel.largest_payload = std::max(channel.largest_payload, packet.payload);
}

void Channels::learn_request(Channel& channel, const Packet& packet) {
  if (channel.read) vote(channel, packet.psn);
  const bool reads = packet.info->operation == wire::Operation::read_request && packet.has_reth;
  if (reads) channel.read = Channel::PendingRead{packet.psn, packet.dma_length};
  const std::uint32_t mtu = channel.request_mtu != 0 ? channel.request_mtu : kMtus[0];
  const wire::Psn end = wire::Psn{packet.psn} + (reads ? read_span(packet.dma_length, mtu) : 1);
  if (!channel.has_requests) {
    channel.first_psn = packet.psn;
    channel.end_psn = end.value();
    channel.source_port = packet.source_port;
  }
  if (distance(channel.end_psn, end.value()) > 0) channel.end_psn = end.value();
  if (distance(packet.psn, channel.first_psn) > 0) channel.first_psn = packet.psn;
  channel.last_psn = packet.psn;
  channel.has_requests = true;
}

void Channels::learn_response(std::uint32_t index, const Packet& packet) {
  Channel& channel = channels_[index];
  if (!channel.has_requests) channel.source_port = packet.source_port;
  channel.has_responses = true;
  channel.response_psn = packet.psn;
  if (is_free(channel)) match(index, packet.psn);
}

/// Keeps the channels whose requests the responses may answer, and pairs with the only one.
void Channels::match(std::uint32_t index, std::uint32_t psn) {
  std::vector<Channel::Candidate>& candidates = channels_[index].candidates;
  if (candidates.empty()) {
    for (const std::uint32_t other : group_of(channels_[index].key, true)) {
      const Channel& channel = channels_[other];
      if (channel.has_requests && sent_exactly(channel, psn)) candidates.push_back({other});
    }
  } else {
    std::erase_if(candidates, [&](Channel::Candidate& candidate) {
      const Channel& channel = channels_[candidate.channel];
      candidate.misses += !sent_exactly(channel, psn);
      return !is_free(channel) || !sent_about(channel, psn);
    });
  }
  if (candidates.size() == 1) pair(index, candidates.front().channel, PairedBy::responses);
}

void Channels::learn_connection(const Sighting& sighting) {
  const auto heard = emulator::cm_sighting(sighting.frame.envelope, *sighting.frame.bth);
  if (!heard) return;
  const auto connection = learners_[sighting.point].hear(*heard);
  if (!connection) return;
  // A REP comes from the replier.
  ChannelKey to_requester = channel_key(sighting);
  to_requester.qp = connection->to_requester.dest_qp & wire::Psn::kMask;
  to_requester.source_qp = 0;
  ChannelKey to_replier = reversed(to_requester);
  to_replier.qp = connection->to_replier.dest_qp & wire::Psn::kMask;
  to_replier.source_qp = 0;
  for (const ChannelKey& key : {to_requester, to_replier}) {
    const auto old = current_.find(key);
    if (old != current_.end()) end(old->second);
  }
  const std::uint32_t a = begin(to_replier), b = begin(to_requester);
  channels_[a].cm_psn = connection->replier_psn;
  channels_[b].cm_psn = connection->requester_psn;
  pair(a, b, PairedBy::connection_manager);
}

void Channels::settle(std::uint32_t index) {
  Channel& channel = channels_[index];
  if (!is_free(channel) || channel.key.source_qp != 0) return;
  std::vector<Channel::Candidate> fitting = channel.candidates;
  if (fitting.empty() && channel.transport == wire::Transport::uc) {
    for (const std::uint32_t other : group_of(channel.key, true))
      if (channels_[other].transport == wire::Transport::uc) fitting.push_back({other});
  }
  std::erase_if(fitting, [&](const auto& one) { return !is_free(channels_[one.channel]); });
  if (fitting.empty()) return;
  const auto has_port = [&](const auto& one) {
    return channels_[one.channel].source_port == channel.source_port;
  };
  if (std::ranges::count_if(fitting, has_port) == 1)
    return pair(index, std::ranges::find_if(fitting, has_port)->channel, PairedBy::source_port);
  if (channel.candidates.empty() && fitting.size() > 1) return;  // UC: nothing tells
  const auto best = std::ranges::min_element(
      fitting, {}, [](const auto& one) { return std::pair(one.misses, one.channel); });
  pair(index, best->channel, PairedBy::order);
}

std::optional<std::uint32_t> Channels::mtu_of(std::uint32_t index) const noexcept {
  const Channel& channel = channels_[index];
  const Channel* peer = channel.peer == Channel::kNone ? nullptr : &channels_[channel.peer];
  if (peer != nullptr && peer->response_mtu != 0) return peer->response_mtu;
  if (channel.request_mtu != 0) return channel.request_mtu;
  if (channel.response_mtu != 0) return channel.response_mtu;
  if (peer != nullptr && peer->request_mtu != 0) return peer->request_mtu;
  const auto votes = std::ranges::max_element(channel.mtu_votes);
  if (*votes > 0) return kMtus[static_cast<std::size_t>(votes - channel.mtu_votes.begin())];
  return std::nullopt;
}

}  // namespace lw::analysis

// SPDX-License-Identifier: BSD-3-Clause
#include "upper/follower.h"

#include <algorithm>

#include "upper/limits.h"

namespace lw::upper {

Follower::Connection::Connection(Follower& owner, std::uint32_t number)
    : facts{.connection = number},
      table(facts, owner.shared_, owner.on_command_),
      streams{MessageStream(0, owner.waiting_bytes_,
                            [&owner, this](const UpperMessage& message) {
                              owner.handle_message(*this, message);
                            }),
              MessageStream(1, owner.waiting_bytes_, [&owner, this](const UpperMessage& message) {
                owner.handle_message(*this, message);
              })} {
  if (owner.forced_) begin(*this, *owner.forced_, RecognisedBy::option);
}

void Follower::begin(Connection& connection, UpperProtocol protocol, RecognisedBy by) {
  connection.facts.protocol = protocol;
  connection.facts.recognised_by = by;
  connection.parser = parser_of(protocol, connection.facts, connection.table);
  connection.gave_up = connection.parser == nullptr;
}

void Follower::add(const UpperPacket& packet) {
  auto& connection = connections_[packet.connection];
  if (!connection) {
    if (connections_.size() > kMostConnections) {
      connections_.erase(packet.connection);
      return;
    }
    connection = std::make_unique<Connection>(*this, packet.connection);
    connection->service = packet.service;
  }
  if (connection->gave_up) return;
  if (!connection->first) connection->first = packet.packet.stamp;
  const Duration since = stamp_difference(packet.packet.stamp, *connection->first);
  if (since > kLongestSpan || since < -kLongestSpan) return;
  const bool asks = packet.packet.is_request();
  const std::uint8_t of = asks ? packet.direction : static_cast<std::uint8_t>(1 - packet.direction);
  if (asks)
    connection->streams[of].request(packet.packet, packet.bytes, packet.mtu, packet.first_psn);
  else if (packet.packet.is_response())
    connection->streams[of].response(packet.packet, packet.bytes);
}

void Follower::handle_message(Connection& connection, const UpperMessage& message) {
  const bool sends = message.operation == wire::Operation::send;
  if (sends) ++connection.facts.sends;
  if (!connection.parser && !connection.gave_up && sends) {
    const UpperProtocol protocol = recognise(message);
    if (protocol != UpperProtocol::unknown)
      begin(connection, protocol, RecognisedBy::content);
    else if (connection.service != UpperProtocol::unknown)
      begin(connection, connection.service, RecognisedBy::service);
    else
      connection.gave_up = ++connection.tries >= kMostTries;
  }
  if (connection.parser) connection.parser->handle(message);
}

void Follower::finish() {
  for (auto& [number, connection] : connections_) {
    for (MessageStream& stream : connection->streams) stream.finish();
    connection->table.finish();
  }
}

std::vector<const UpperFacts*> Follower::facts() const {
  std::vector<const UpperFacts*> all;
  for (const auto& [number, connection] : connections_)
    if (connection->facts.sends > 0) all.push_back(&connection->facts);
  std::ranges::sort(all, {}, &UpperFacts::connection);
  return all;
}

}  // namespace lw::upper

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/packet.h"
#include "upper/message_stream.h"
#include "upper/parser.h"

namespace lw::upper {

/// A packet of a connection, with the captured begin of its payload.
struct UpperPacket {
  const analysis::CapturedPacket& packet;
  Bytes bytes;
  std::uint32_t connection = 0;
  std::uint8_t direction = 0;   // of the packet
  std::uint32_t mtu = 0;        // of its flow; 0: unknown
  std::uint32_t first_psn = 0;  // the lowest known PSN of its flow
  /// Of the connection manager's service; unknown: none names it. Content decides first.
  UpperProtocol service = UpperProtocol::unknown;
};

/// Follows the commands of all connections of a capture: packets in, commands and facts out. No
/// clock, no I/O; one thread.
class Follower {
 public:
  using OnCommand = std::function<void(const StorageCommand&)>;

  /// `on_command` gets each command once, in no certain order. `forced`: the protocol of all
  /// connections.
  explicit Follower(OnCommand on_command, std::optional<UpperProtocol> forced = {})
      : on_command_(std::move(on_command)), forced_(forced) {}

  /// A packet of a connection, in the order of the capture.
  void add(const UpperPacket& packet);
  void finish();

  /// Facts of the connections that sent SENDs, in the order of their first packets.
  [[nodiscard]] std::vector<const UpperFacts*> facts() const;

 private:
  /// A connection and what reads it.
  struct Connection {
    Connection(const Connection&) = delete;
    Connection(Follower& owner, std::uint32_t number);

    UpperFacts facts;
    CommandTable table;
    std::unique_ptr<Parser> parser;
    std::array<MessageStream, 2> streams;
    std::optional<Instant> first;  // stamp of its first packet
    UpperProtocol service = UpperProtocol::unknown;
    std::uint32_t tries = 0;
    bool gave_up = false;
  };

  void handle_message(Connection& connection, const UpperMessage& message);
  static void begin(Connection& connection, UpperProtocol protocol, RecognisedBy by);

  OnCommand on_command_;
  std::optional<UpperProtocol> forced_;
  SharedCommands shared_;
  std::size_t waiting_bytes_ = 0;
  std::unordered_map<std::uint32_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace lw::upper

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "upper/parser.h"
#include "upper/rpc/nfs.h"

namespace lw::upper::rpc {

/// Reads the calls and replies of a connection of RPC over RDMA. Servers of NFSv4.1 call back on
/// the same connection: identifiers of the two directions are apart.
class RpcParser final : public Parser {
 public:
  RpcParser(UpperFacts& facts, CommandTable& table) : facts_(facts), table_(table) {}
  void handle(const UpperMessage& message) override;

 private:
  void handle_send(const UpperMessage& message);
  void handle_data(const UpperMessage& message);
  void handle_call(const UpperMessage& message, const TransportHeader& header,
                   const RpcHeader& call, Bytes arguments);
  void handle_reply(const UpperMessage& message, const TransportHeader& header);
  void handle_long_call(OpenCommand& open, Bytes data);
  [[nodiscard]] std::uint64_t key_of(std::uint8_t caller, std::uint32_t xid) const noexcept;

  UpperFacts& facts_;
  CommandTable& table_;
  std::optional<std::uint8_t> client_;                            // the direction of the first call
  std::unordered_map<std::uint64_t, std::uint32_t> long_status_;  // of replies that a WRITE carried
};

}  // namespace lw::upper::rpc

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "upper/bytes.h"
#include "upper/command_table.h"

namespace lw::upper::rpc {

/// The kinds of RPC-over-RDMA messages. (RFC 8166, 4.2)
enum class Kind : std::uint8_t { msg = 0, nomsg = 1, msgp = 2, done = 3, error = 4 };

/// The transport header of RPC-over-RDMA version 1. (RFC 8166, 4)
struct TransportHeader {
  std::uint32_t xid = 0, credits = 0;
  Kind kind = Kind::msg;
  std::vector<DataRegion> reads = {}, writes = {},
                          reply = {};  // the read list, the write list, the reply chunk
  std::uint64_t call_bytes = 0;        // of the read chunk at position 0: a long call
  bool whole = true;                   // false: the capture cuts it
  std::size_t length = 0;              // where the RPC message begins
};

/// Reads a transport header. Nothing: it is none.
std::optional<TransportHeader> read_transport(Bytes bytes) noexcept;

/// The header of an RPC message. (RFC 5531, 9)
struct RpcHeader {
  std::uint32_t xid = 0;
  bool is_call = false;
  std::optional<std::uint32_t> program = {}, version = {}, procedure = {};  // of a call
  bool has_privacy = false;              // RPCSEC_GSS encrypts the arguments
  std::optional<std::size_t> body = {};  // where arguments or results begin; nothing: cut
  /// Of a reply: 0 accepted; accept_stat; or the reason of a denial.
  bool denied = false;
  std::optional<std::uint32_t> accept_status = {};
};
std::optional<RpcHeader> read_rpc(Bytes bytes) noexcept;

}  // namespace lw::upper::rpc

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "upper/rpc/rpc_rdma.h"

namespace lw::upper::rpc {

inline constexpr std::uint32_t kNfsProgram = 100003, kCallbackProgram = 0x40000000;

/// What a call asks for.
struct RpcOperation {
  std::string_view name;                    // "NFSv3 READ"; of a compound: its main operation
  std::optional<std::uint64_t> bytes = {};  // that it reads or writes
};

/// The operation of a call; `arguments`: from RpcHeader::body on, as far as captured.
RpcOperation operation_of(const RpcHeader& header, Bytes arguments) noexcept;

/// Which numbers a status has.
enum class StatusKind : std::uint8_t { nfs = 0, rpc_accept = 1, rpc_denied = 2, transport = 3 };
std::string_view status_words(StatusKind kind, std::uint32_t status) noexcept;  // empty: none

}  // namespace lw::upper::rpc

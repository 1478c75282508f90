// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "core/time.h"
#include "wire/opcode.h"

namespace lw::transport {

/// A work request. `operation` is send, write, read_request, cmp_swap or
/// fetch_add.
struct WorkRequest {
  std::uint64_t id = 0;
  wire::Operation operation = wire::Operation::write;
  bool immediate = false;   // SEND and WRITE
  bool invalidate = false;  // SEND, not together with immediate
  bool solicited_event = false;
  std::uint32_t length = 0;     // bytes, <= 2^31; a UD message fits the MTU
  std::uint32_t word = 0;       // the immediate, or the R_Key to invalidate
  std::uint32_t dest_qp = 0;    // UD: 24 bits
  std::uint64_t local_va = 0;   // source of what is sent, destination of what is read
  std::uint64_t remote_va = 0;  // WRITE, READ, atomics
  std::uint32_t r_key = 0;
  std::uint16_t dest_host = 0;  // UD
  std::uint64_t swap_add = 0, compare = 0;
};
static_assert(sizeof(WorkRequest) == 64);  // a simulation copies one for each message

/// A receive buffer. Each SEND and each immediate consumes one.
struct Receive {
  std::uint64_t id = 0;
  std::uint64_t va = 0;
  std::uint32_t length = 0;
};

/// Result of a work request, as the verbs' work completion status. (IBTA vol. 1, 11.6.2)
enum class Status : std::uint8_t {
  success,
  retry_exceeded,      // no response
  rnr_retry_exceeded,  // the peer had no receive
  remote_invalid_request,
  remote_access_error,
  remote_operational_error,
  flushed,  // another request broke the QP
};

/// "retry exceeded"
constexpr std::string_view name_of(Status status) noexcept {
  switch (status) {
    case Status::success:
      return "success";
    case Status::retry_exceeded:
      return "retry exceeded";
    case Status::rnr_retry_exceeded:
      return "RNR retry exceeded";
    case Status::remote_invalid_request:
      return "remote invalid request";
    case Status::remote_access_error:
      return "remote access error";
    case Status::remote_operational_error:
      return "remote operational error";
    case Status::flushed:
      return "flushed";
  }
  return "";
}

/// Completion of a work request or, with `arrival`, of a message from the peer.
struct Completion {
  std::uint64_t id = 0;
  Instant at = {};
  Instant posted = {};  // when the request was posted
  std::uint32_t length = 0;
  std::uint32_t word = 0;      // an arrival's immediate or invalidated R_Key
  std::uint64_t original = 0;  // value before an atomic
  wire::Operation operation{};
  Status status = Status::success;
  bool arrival = false;
  bool immediate = false;
};

}  // namespace lw::transport

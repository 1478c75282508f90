// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "upper/bytes.h"
#include "upper/command_table.h"

namespace lw::upper::smb {

/// Bytes of the messages of SMB Direct. ([MS-SMBD] 2.2)
inline constexpr std::size_t kNegotiateRequest = 20, kNegotiateResponse = 32, kDataHeader = 24;

struct NegotiateResponse {
  std::uint16_t credits_requested = 0, credits_granted = 0;
  std::uint32_t status = 0;
};
struct NegotiateRequest {
  std::uint16_t credits_requested = 0;
};
std::optional<NegotiateRequest> read_negotiate_request(Bytes bytes, std::uint64_t length) noexcept;
std::optional<NegotiateResponse> read_negotiate_response(Bytes bytes,
                                                         std::uint64_t length) noexcept;

/// A data transfer message: a fragment of a message of SMB2, or credits alone.
struct DataTransfer {
  std::uint16_t credits_requested = 0, credits_granted = 0;
  std::uint32_t remaining = 0;  // bytes of the message after this fragment
  std::uint32_t length = 0;     // bytes of this fragment
  Bytes data = {};              // as far as captured
};
std::optional<DataTransfer> read_data(Bytes bytes, std::uint64_t length) noexcept;

/// What the first bytes of a message of SMB2 are.
enum class Magic : std::uint8_t { none, smb2, encrypted, compressed };
Magic magic_of(Bytes bytes) noexcept;

/// A header of SMB2. ([MS-SMB2] 2.2.1)
struct Header {
  std::uint16_t command = 0;
  std::uint32_t status = 0;
  bool is_response = false, is_async = false;
  std::uint32_t next = 0;  // offset of the next command in the message; 0: there is none
  std::uint64_t message_id = 0, async_id = 0;
};
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::uint16_t kRead = 8, kWrite = 9, kCancel = 12, kLock = 10, kNotify = 15,
                               kEcho = 13;
inline constexpr std::uint32_t kPending = 0x103, kMoreProcessing = 0xc0000016;
/// Needs the first 32 bytes.
std::optional<Header> read_header(Bytes bytes) noexcept;

/// The memory that a READ or WRITE names, and its length. `bytes`: from the header on.
struct DataAccess {
  std::optional<std::uint64_t> bytes = {};
  std::vector<DataRegion> regions;
};
DataAccess read_access(const Header& header, Bytes bytes);

std::string_view command_name(std::uint16_t command) noexcept;  // "SMB2 READ"
std::string_view status_words(std::uint32_t status) noexcept;   // empty: none

}  // namespace lw::upper::smb

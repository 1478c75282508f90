// SPDX-License-Identifier: BSD-3-Clause
#include "upper/smb/smb_direct.h"

#include <algorithm>
#include <iterator>

#include "upper/limits.h"

namespace lw::upper::smb {
namespace {

constexpr std::uint16_t kVersion = 0x0100;

// [MS-SMB2] 2.2.1.2.
constexpr std::string_view kCommands[] = {"SMB2 NEGOTIATE",
                                          "SMB2 SESSION_SETUP",
                                          "SMB2 LOGOFF",
                                          "SMB2 TREE_CONNECT",
                                          "SMB2 TREE_DISCONNECT",
                                          "SMB2 CREATE",
                                          "SMB2 CLOSE",
                                          "SMB2 FLUSH",
                                          "SMB2 READ",
                                          "SMB2 WRITE",
                                          "SMB2 LOCK",
                                          "SMB2 IOCTL",
                                          "SMB2 CANCEL",
                                          "SMB2 ECHO",
                                          "SMB2 QUERY_DIRECTORY",
                                          "SMB2 CHANGE_NOTIFY",
                                          "SMB2 QUERY_INFO",
                                          "SMB2 SET_INFO",
                                          "SMB2 OPLOCK_BREAK"};

struct Name {
  std::uint32_t code;
  std::string_view name;
};
// [MS-ERREF] 2.3.1.
constexpr Name kStatus[] = {{0x00000103, "STATUS_PENDING"},
                            {0x0000010b, "STATUS_NOTIFY_CLEANUP"},
                            {0x0000010c, "STATUS_NOTIFY_ENUM_DIR"},
                            {0x80000005, "STATUS_BUFFER_OVERFLOW"},
                            {0x80000006, "STATUS_NO_MORE_FILES"},
                            {0xc0000001, "STATUS_UNSUCCESSFUL"},
                            {0xc0000008, "STATUS_INVALID_HANDLE"},
                            {0xc000000d, "STATUS_INVALID_PARAMETER"},
                            {0xc000000f, "STATUS_NO_SUCH_FILE"},
                            {0xc0000011, "STATUS_END_OF_FILE"},
                            {0xc0000016, "STATUS_MORE_PROCESSING_REQUIRED"},
                            {0xc0000022, "STATUS_ACCESS_DENIED"},
                            {0xc0000023, "STATUS_BUFFER_TOO_SMALL"},
                            {0xc0000033, "STATUS_OBJECT_NAME_INVALID"},
                            {0xc0000034, "STATUS_OBJECT_NAME_NOT_FOUND"},
                            {0xc0000035, "STATUS_OBJECT_NAME_COLLISION"},
                            {0xc000003a, "STATUS_OBJECT_PATH_NOT_FOUND"},
                            {0xc0000043, "STATUS_SHARING_VIOLATION"},
                            {0xc0000054, "STATUS_FILE_LOCK_CONFLICT"},
                            {0xc0000055, "STATUS_LOCK_NOT_GRANTED"},
                            {0xc0000056, "STATUS_DELETE_PENDING"},
                            {0xc000006d, "STATUS_LOGON_FAILURE"},
                            {0xc000007f, "STATUS_DISK_FULL"},
                            {0xc000009a, "STATUS_INSUFFICIENT_RESOURCES"},
                            {0xc00000b5, "STATUS_IO_TIMEOUT"},
                            {0xc00000ba, "STATUS_FILE_IS_A_DIRECTORY"},
                            {0xc00000bb, "STATUS_NOT_SUPPORTED"},
                            {0xc00000c9, "STATUS_NETWORK_NAME_DELETED"},
                            {0xc00000cc, "STATUS_BAD_NETWORK_NAME"},
                            {0xc0000101, "STATUS_DIRECTORY_NOT_EMPTY"},
                            {0xc0000120, "STATUS_CANCELLED"},
                            {0xc0000128, "STATUS_FILE_CLOSED"},
                            {0xc0000203, "STATUS_USER_SESSION_DELETED"},
                            {0xc000020c, "STATUS_CONNECTION_DISCONNECTED"},
                            {0xc000035c, "STATUS_NETWORK_SESSION_EXPIRED"}};

/// Reads the descriptors of buffers of a READ or WRITE. ([MS-SMBD] 2.2.3.1)
void read_descriptors(Bytes bytes, std::size_t offset, std::size_t length,
                      std::vector<DataRegion>& regions) {
  constexpr std::size_t kDescriptor = 16;
  for (std::size_t at = offset;
       at + kDescriptor <= offset + length && regions.size() < kMostRegions; at += kDescriptor) {
    const auto va = little<std::uint64_t>(bytes, at);
    const auto token = little<std::uint32_t>(bytes, at + 8);
    const auto size = little<std::uint32_t>(bytes, at + 12);
    if (!size) return;
    regions.push_back({*va, *size, *token});
  }
}

}  // namespace

std::optional<NegotiateRequest> read_negotiate_request(Bytes bytes, std::uint64_t length) noexcept {
  if (length != kNegotiateRequest || bytes.size() < kNegotiateRequest) return std::nullopt;
  const auto lowest = *little<std::uint16_t>(bytes, 0), highest = *little<std::uint16_t>(bytes, 2);
  if (lowest > kVersion || highest < kVersion || lowest == 0) return std::nullopt;
  return NegotiateRequest{.credits_requested = *little<std::uint16_t>(bytes, 6)};
}

std::optional<NegotiateResponse> read_negotiate_response(Bytes bytes,
                                                         std::uint64_t length) noexcept {
  if (length != kNegotiateResponse || bytes.size() < kNegotiateResponse) return std::nullopt;
  if (little<std::uint16_t>(bytes, 4) != kVersion) return std::nullopt;
  return NegotiateResponse{.credits_requested = *little<std::uint16_t>(bytes, 8),
                           .credits_granted = *little<std::uint16_t>(bytes, 10),
                           .status = *little<std::uint32_t>(bytes, 12)};
}

std::optional<DataTransfer> read_data(Bytes bytes, std::uint64_t length) noexcept {
  constexpr std::size_t kWithoutData = 20;
  if (length < kWithoutData || bytes.size() < kWithoutData) return std::nullopt;
  DataTransfer data{.credits_requested = *little<std::uint16_t>(bytes, 0),
                    .credits_granted = *little<std::uint16_t>(bytes, 2),
                    .remaining = *little<std::uint32_t>(bytes, 8),
                    .length = *little<std::uint32_t>(bytes, 16)};
  const std::uint32_t offset = *little<std::uint32_t>(bytes, 12);
  const std::uint16_t reserved = *little<std::uint16_t>(bytes, 6);
  const bool fits = data.length == 0 || (offset >= kDataHeader && offset % 8 == 0 &&
                                         std::uint64_t{offset} + data.length <= length);
  if (!fits || reserved != 0) return std::nullopt;
  if (data.length > 0 && offset < bytes.size())
    data.data =
        bytes.subspan(offset).first(std::min<std::size_t>(data.length, bytes.size() - offset));
  return data;
}

Magic magic_of(Bytes bytes) noexcept {
  const auto word = little<std::uint32_t>(bytes, 0);
  constexpr std::uint32_t kName = 0x424d5300;  // "SMB" behind the first byte
  if (!word || (*word & 0xffffff00) != kName) return Magic::none;
  switch (*word & 0xff) {
    case 0xfe:
      return Magic::smb2;
    case 0xfd:
      return Magic::encrypted;
    case 0xfc:
      return Magic::compressed;
    default:
      return Magic::none;
  }
}

std::optional<Header> read_header(Bytes bytes) noexcept {
  constexpr std::uint32_t kResponse = 1, kAsync = 2;
  constexpr std::size_t kNeeded = 32;
  if (bytes.size() < kNeeded || magic_of(bytes) != Magic::smb2 ||
      little<std::uint16_t>(bytes, 4) != kHeaderBytes)
    return std::nullopt;
  const std::uint32_t flags = *little<std::uint32_t>(bytes, 16);
  Header header{.command = *little<std::uint16_t>(bytes, 12),
                .status = *little<std::uint32_t>(bytes, 8),
                .is_response = (flags & kResponse) != 0,
                .is_async = (flags & kAsync) != 0,
                .next = *little<std::uint32_t>(bytes, 20),
                .message_id = *little<std::uint64_t>(bytes, 24)};
  if (header.is_async) header.async_id = little<std::uint64_t>(bytes, 32).value_or(0);
  return header;
}

DataAccess read_access(const Header& header, Bytes bytes) {
  constexpr std::size_t kLength = kHeaderBytes + 4, kChannel = kHeaderBytes + 36;
  const std::size_t info = kHeaderBytes + (header.command == kRead ? 44 : 40);
  DataAccess access;
  if (header.command != kRead && header.command != kWrite) return access;
  if (const auto length = little<std::uint32_t>(bytes, kLength)) access.bytes = *length;
  // A WRITE through the channel has its length in RemainingBytes.
  const std::size_t channel_at = header.command == kRead ? kChannel : kChannel - 4;
  const auto channel = little<std::uint32_t>(bytes, channel_at);
  if (!channel || *channel == 0) return access;
  if (header.command == kWrite)
    if (const auto remaining = little<std::uint32_t>(bytes, channel_at + 4))
      access.bytes = std::max<std::uint64_t>(access.bytes.value_or(0), *remaining);
  const auto offset = little<std::uint16_t>(bytes, info);
  const auto length = little<std::uint16_t>(bytes, info + 2);
  if (offset && length) read_descriptors(bytes, *offset, *length, access.regions);
  return access;
}

std::string_view command_name(std::uint16_t command) noexcept {
  return command < std::size(kCommands) ? kCommands[command] : "SMB2 unknown command";
}

std::string_view status_words(std::uint32_t status) noexcept {
  const Name* const name = std::ranges::find(kStatus, status, &Name::code);
  return name == std::end(kStatus) ? std::string_view{} : name->name;
}

}  // namespace lw::upper::smb

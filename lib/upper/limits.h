// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace lw::upper {

/// Commands that are open at once, in all connections together: about 1 kB each. When there are
/// more, the connection's oldest one ends without its completion, and is counted.
inline constexpr std::size_t kMostOpenCommands = std::size_t{1} << 17;

/// Commands that have ended and whose completion is not acknowledged yet, of one connection.
inline constexpr std::size_t kMostUnsettled = 1024;

/// Bytes of a SEND's payload that are kept to be read: a capsule's command, the headers of a call.
inline constexpr std::size_t kMostSendBytes = 1024;

/// Bytes that are kept of a WRITE's first packet and of a READ's first response: they may begin
/// with the header of a long call or reply.
inline constexpr std::size_t kMostDataBytes = 192;

/// Messages of one direction of a connection that are followed until they are acknowledged.
inline constexpr std::size_t kMostUnacknowledged = 4096;

/// READs of one direction of a connection whose responses are followed.
inline constexpr std::size_t kMostReads = 1024;

/// Ranges of memory that a command names: more than hosts use, which send at most some dozens.
inline constexpr std::size_t kMostRegions = 256;

/// Messages of data that are kept of a command; the times of further ones are joined to the last.
inline constexpr std::size_t kMostLegs = 256;

/// SENDs of a connection by which its protocol is recognised; after them it is unknown.
inline constexpr std::uint32_t kMostTries = 32;

/// Operations of an NFSv4 compound that are read.
inline constexpr std::uint32_t kMostCompound = 64;

/// Commands of one SMB2 message that are read.
inline constexpr std::uint32_t kMostChained = 64;

/// Statuses of failed commands that are counted apart, of a connection.
inline constexpr std::size_t kMostStatuses = 32;

/// Longest time from a connection's first packet to another one, 34 years: packets with other
/// stamps are left out, as sums of their times would overflow.
inline constexpr Duration kLongestSpan = std::chrono::hours(300'000);

/// Connections whose upper layer is followed.
inline constexpr std::size_t kMostConnections = 20'000;

/// Rows of commands that are kept to be sorted: the slowest.
inline constexpr std::size_t kMostRows = 1'000'000;

}  // namespace lw::upper

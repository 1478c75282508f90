// SPDX-License-Identifier: BSD-3-Clause
// Bounds of what a peer may ask roce-gen and roce-endpoint for. docs/security.md quotes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace lw::gen {

/// Rows that one row of a job's trace waits for: each arrival looks at all of them.
inline constexpr std::size_t kMostDependencies = 4096;

/// Slots of a QP in a region: a ring of records in 48 GiB of memory.
inline constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 30;

/// Messages of a connection that may be outstanding: the most that perf's --tx-depth takes.
inline constexpr std::uint64_t kMostDepth = std::uint64_t{1} << 20;

/// Longest text of a peer that is shown, in bytes: a reason, or the name of a counter.
inline constexpr std::size_t kMostShown = 1000;

/// Least and most payload of a packet in bytes that our own endpoints agree on: testers use any
/// size, up to what jumbo frames of 14 kB hold.
inline constexpr std::uint32_t kLeastPacketPayload = 64;
inline constexpr std::uint32_t kMostPacketPayload = 14'000;

/// Least bytes of a path MTU: an MTU is a power of two (IBTA vol. 1, 9.6.1).
inline constexpr std::uint32_t kLeastMtu = 256;

/// Most bytes of a path MTU.
inline constexpr std::uint32_t kMostMtu = 4096;

/// Memory of the latency histograms of all received flows together, in bytes. A histogram takes 512
/// for each 64 buckets that it uses.
inline constexpr std::uint64_t kMostLatencyMemory = std::uint64_t{4} << 30;

/// QPs of one session of roce-endpoint: its hand-over lists each of them in a line.
inline constexpr std::size_t kMostQps = 512;

/// Connections of roce-gen respond at the same time, and requests for a connection that wait for
/// their confirmation: more than --qps of any client that one core serves.
inline constexpr std::size_t kMostConnections = std::size_t{16} << 10;

/// Memory of a connection in bytes beside what follows and its region: the QP with 64 echoes, 1024
/// responses that wait, frame headers and tables.
inline constexpr std::uint64_t kConnectionCost = std::uint64_t{80} << 10;

/// Memory of a receive in bytes: 24, in a queue that doubles while the old one still exists.
inline constexpr std::uint64_t kReceiveCost = 96;

/// Memory of an echo in bytes that waits for its acknowledgement: 96, in such a queue.
inline constexpr std::uint64_t kEchoCost = 384;

/// Memory of a packet in bytes that selective repeat keeps behind a gap: 4096 of payload, its
/// headers, and the completion that it may cause, in such queues.
inline constexpr std::uint64_t kKeptPacketCost = 4736;

/// Time in which a client must confirm a connection that it asked for: as long as Linux repeats.
inline constexpr Duration kConfirmWithin = std::chrono::seconds(30);

/// Time without a packet after which roce-gen respond closes a connection: longer than retries
/// take.
inline constexpr Duration kSilentConnection = std::chrono::seconds(60);

/// Closed connections whose DisconnectReply is repeated if it was lost: 300 bytes each.
inline constexpr std::size_t kMostClosed = std::size_t{4} << 10;

/// Time without a sign of its client after which roce-endpoint serve ends a session by default.
inline constexpr Duration kIdleSession = std::chrono::seconds(60);

/// Time of the longest run both ways that a client asks roce-endpoint serve for.
inline constexpr Duration kMostRun = std::chrono::hours(24 * 365);

/// Time for the messages that arrive after a client of roce-endpoint serve has reported its end.
inline constexpr Duration kMostDraining = std::chrono::seconds(10);

/// Time that a client waits for what is outstanding, or for a report, after a signal.
inline constexpr Duration kWaitAfterStop = std::chrono::seconds(2);

/// Longest report of a sender (--sent), in bytes, without its flows: the figures of the run and of
/// 64 ports.
inline constexpr std::size_t kMostReport = std::size_t{64} << 10;

/// Bytes that each flow of the profile adds to it: names, 20 counters of up to 20 digits, the
/// faults by kind.
inline constexpr std::size_t kMostReportOfFlow = std::size_t{2} << 10;

/// Connections at the place of the sender's report at a time: one sender is expected.
inline constexpr std::size_t kMostSenders = 8;

/// Ranks of a run that mpirun started: each has a row in the report.
inline constexpr int kMostRanks = 4096;

/// Results of a rank as text, in bytes: MPI counts to 2 GiB, and as JSON the text may double.
inline constexpr std::size_t kMostResults = std::size_t{512} << 20;

}  // namespace lw::gen

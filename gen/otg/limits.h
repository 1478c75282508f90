// SPDX-License-Identifier: BSD-3-Clause
// Bounds of what a client of roce-gen otg may ask for. docs/security.md quotes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace lw::gen::otg {

/// Longest body of a request to roce-gen otg, in bytes: a configuration of 1,000 QPs with all their
/// fields takes half of it.
inline constexpr std::size_t kMostBody = std::size_t{1} << 20;

/// Elements of one list of a configuration.
inline constexpr std::size_t kMostItems = 1024;

/// Fields of one object of a body: twice as many as the largest message of the model has.
inline constexpr std::size_t kMostMembers = 64;

/// Flows of packets of a configuration: each of them is asked in each round what is due.
inline constexpr std::size_t kMostPacketFlows = 1024;

/// Pairs of devices of all flows of packets together, where a flow of ports counts as one: each has
/// a frame of its own in memory.
inline constexpr std::size_t kMostPairs = 4096;

/// Problems that an answer lists: the first ones.
inline constexpr std::size_t kMostProblems = 100;

/// Ports of a configuration: one thread moves their frames.
inline constexpr std::size_t kMostPorts = 16;

/// QPs of a configuration, each of which has up to kMostOutstanding messages outstanding.
inline constexpr std::size_t kMostQps = 1024;

/// Messages of a QP that are outstanding: as many as fit in 50 ms of its rate, and no more than
/// this.
inline constexpr std::uint64_t kMostOutstanding = 1024;

/// Longest frame of a flow, in bytes with FCS.
inline constexpr std::size_t kMostFrame = 14122;

/// Header bytes of a flow's frames: those of all its headers together.
inline constexpr std::size_t kMostHeaderBytes = 1024;

/// Longest duration, delay and gap of a flow, in seconds: a year.
inline constexpr double kMostSeconds = 31'536'000;

/// Longest answer of the process that runs a configuration, in bytes: metrics of 1,024 QPs take
/// 1 MB.
inline constexpr std::size_t kMostAnswer = std::size_t{64} << 20;

/// Longest capture that a client gets, in bytes; a longer one is refused.
inline constexpr std::size_t kMostCapture = std::size_t{256} << 20;

/// Time for the process that runs a configuration to answer, beyond kMostDraining.
inline constexpr Duration kMostAnswering = std::chrono::seconds(30);

/// Time for the messages that are outstanding when flows stop.
inline constexpr Duration kMostDraining = std::chrono::seconds(10);

/// Time for QPs to disconnect when protocols stop.
inline constexpr Duration kMostDisconnecting = std::chrono::seconds(2);

}  // namespace lw::gen::otg

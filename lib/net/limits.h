// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>

/// What a stranger may ask of a listening socket.
namespace lw::net {

/// Connections of one listener at a time: each has a descriptor, of which a process has 1,024. One
/// more takes the place of the longest idle one of the address that has most of them.
inline constexpr std::size_t kMostClients = 256;
/// Longest request at the control socket, in bytes: a change of every key of a rule takes 6 KiB.
inline constexpr std::size_t kMostControlRequest = std::size_t{16} << 10;
/// Longest answer that `ctl` takes from a control socket, in bytes: the state of a run with 50,000
/// rules takes less.
inline constexpr std::size_t kMostControlAnswer = std::size_t{64} << 20;
/// Longest body of an HTTP request, in bytes: it holds a request of the control socket.
inline constexpr std::size_t kMostBody = std::size_t{16} << 10;
/// Longest HTTP request with its head, in bytes: a browser's head takes up to 4 KiB.
inline constexpr std::size_t kMostHttpRequest = std::size_t{20} << 10;
/// Open pages (/events) of one server at a time: each gets the state twice a second.
inline constexpr std::size_t kMostStreams = 8;
/// Answers of one server that its clients have not read yet, in bytes. Beyond, the longest idle
/// client of the address with most of these bytes gives way; a single answer may be longer.
inline constexpr std::size_t kMostUnread = std::size_t{32} << 20;
/// Time for a request to come, and for a client to take some of its answer: TCP repairs a loss on a
/// long path in less.
inline constexpr auto kIdleTime = std::chrono::seconds(10);
/// Time after an answer in which a client closes its connection: an end before that could take the
/// answer from it, if it still sends.
inline constexpr auto kLastTime = std::chrono::seconds(1);
/// Threads of a server that make answers: a slow answer does not delay the next one.
inline constexpr std::size_t kAnswerThreads = 2;

}  // namespace lw::net

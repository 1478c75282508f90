// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/qp_config.h"
#include "transport/work.h"
#include "wire/opcode.h"
#include "wire/view.h"

namespace lw::gen {

// What perf and respond tell each other in the private data of connection management: each is
// written in network order behind the same magic and version, and read as nothing where they
// aren't there.

/// What the client is going to do on one connection.
struct SessionParams {
  wire::Transport transport = wire::Transport::rc;  // rc, uc or ud
  wire::Operation operation = wire::Operation::write;
  bool immediate = false;
  bool echo = false;        // each arrival is answered by the same: a ping-pong
  std::uint32_t size = 0;   // bytes of a message
  std::uint32_t slots = 1;  // messages in a region, one after another; then the first again
  std::uint32_t depth = 1;  // messages that may be on their way at once
  std::uint64_t va = 0;     // the client's memory, as echoes of WRITEs need it
  std::uint32_t r_key = 0;
  // Of what either side sends.
  transport::RateControl rate_control = transport::RateControl::none;
  std::uint64_t rate_bps = 0;     // the limit, or what DCQCN begins with
  bool selective_repeat = false;  // in place of go-back-N

  /// Whether messages may be lost: then each tells its own number, in eight bytes at least.
  [[nodiscard]] bool lossy() const noexcept { return transport != wire::Transport::rc; }
  friend bool operator==(const SessionParams&, const SessionParams&) = default;
};

/// The responder's memory, in the reply that accepts.
struct RemoteMemory {
  std::uint64_t va = 0;  // where the client's WRITEs, atomics or READs go
  std::uint32_t r_key = 0;
  friend bool operator==(const RemoteMemory&, const RemoteMemory&) = default;
};

/// What the responder found, in its answer to the wish to disconnect.
struct ServerStats {
  std::uint64_t checked = 0;          // messages that arrived and were looked at, byte by byte
  std::uint64_t wrong = 0;            // of them, not what was sent
  std::uint64_t duplicates = 0;       // request packets; of lossy() params messages
  std::uint64_t out_of_sequence = 0;  // request packets
  std::uint64_t cnps = 0;             // that it sent
  std::uint64_t dropped = 0;  // request packets of lossy() params: their message isn't whole
  ServerStats& operator+=(const ServerStats& other) noexcept;
  friend bool operator==(const ServerStats&, const ServerStats&) = default;
};

/// As much as the private data of a ConnectRequest has left behind the addresses (RDMA IP CM
/// service, IBTA annex A11); the others fit as well.
using PrivateData = std::array<std::byte, 56>;

PrivateData to_private_data(const SessionParams& params) noexcept;
PrivateData to_private_data(const RemoteMemory& remote) noexcept;
PrivateData to_private_data(const ServerStats& stats) noexcept;
/// Also refuses params that no client has: an operation perf doesn't do, a size or depth of
/// 0, a rate control without a rate, what the transport doesn't carry.
std::optional<SessionParams> read_session_params(wire::Bytes data) noexcept;
std::optional<RemoteMemory> read_remote_memory(wire::Bytes data) noexcept;
std::optional<ServerStats> read_server_stats(wire::Bytes data) noexcept;

/// How a connection's memory is laid out on either side: first the inbox, where the peer's
/// messages go and where what is read arrives, then the outbox, what is sent and what the peer
/// reads. Message i has slot i modulo `slots` in each. A UD message has room for a GRH before it,
/// with which its receive begins (IBTA vol. 1, 11.4.1.2).
class MemoryLayout {
 public:
  MemoryLayout(std::uint32_t qpn, const SessionParams& params) noexcept
      : base_(va_of(qpn)), grh_(grh_of(params)), size_(params.size + grh_), slots_(params.slots) {}

  /// Regions of different QPs are far apart, so that a wrong address or key is detected.
  static constexpr std::uint64_t va_of(std::uint32_t qpn) noexcept {
    return std::uint64_t{qpn} << 32;
  }
  static constexpr std::uint32_t r_key_of(std::uint32_t qpn) noexcept { return qpn << 8 | 0x5a; }

  /// Size of a connection's region in bytes.
  [[nodiscard]] static std::uint64_t region(const SessionParams& params) noexcept {
    return 2 * box(params.size + grh_of(params), params.slots);
  }
  [[nodiscard]] std::uint64_t inbox(std::uint64_t number = 0) const noexcept {
    return base_ + number % slots_ * size_ + grh_;
  }
  /// Where the peer's message goes, with what comes before it.
  [[nodiscard]] transport::Receive receive(std::uint64_t number) const noexcept {
    return {.id = number, .va = inbox(number) - grh_, .length = static_cast<std::uint32_t>(size_)};
  }
  [[nodiscard]] std::uint64_t outbox(std::uint64_t number = 0) const noexcept {
    return inbox(number) + box(size_, slots_);
  }

 private:
  static constexpr std::uint64_t grh_of(const SessionParams& params) noexcept {
    return params.transport == wire::Transport::ud ? 40 : 0;
  }
  static constexpr std::uint64_t box(std::uint64_t size, std::uint64_t slots) noexcept {
    constexpr std::uint64_t kPage = 4096;
    return (size * slots + kPage - 1) / kPage * kPage;
  }
  std::uint64_t base_, grh_, size_, slots_;
};

/// Which side filled a message.
enum class Side : std::uint8_t { client, responder };

/// What a message of perf holds, so that its receiver can tell every byte of it: its number in the
/// first eight bytes (big-endian; of a shorter one the lowest), then a pattern of its side's.
class PayloadPattern {
 public:
  PayloadPattern(Side side, std::uint32_t size);

  /// A whole message; it is `size` bytes long.
  void write(wire::MutableBytes message, std::uint64_t number) const noexcept;
  /// Its number alone: the pattern is there already.
  void number(wire::MutableBytes message, std::uint64_t number) const noexcept;
  /// The number that a message says it has.
  [[nodiscard]] std::uint64_t number_of(wire::Bytes message) const noexcept;
  /// Whether it is that message, or one of a higher number by a multiple of `step` up to `most`:
  /// its sender may have used the place again already.
  [[nodiscard]] bool holds(wire::Bytes message, std::uint64_t number, std::uint64_t step = 0,
                           std::uint64_t most = 0) const noexcept;

 private:
  std::size_t head_;                // bytes of the number
  std::vector<std::byte> pattern_;  // behind it
};

}  // namespace lw::gen

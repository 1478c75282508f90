// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/figure.h"
#include "core/quantity.h"
#include "gen/perf/session/private_data.h"
#include "transport/qp_config.h"
#include "transport/work.h"
#include "wire/opcode.h"
#include "wire/view.h"

namespace lw::gen {

/// Which messages a receiver compares with what was sent. The ICRC of each packet is always
/// checked.
enum class Verify : std::uint8_t {
  all,      // each byte of each message
  sampled,  // each byte of one message in kSampled
  none,     // only that each message is whole
};
inline constexpr std::uint64_t kSampled = 16;

/// Returns true if message `number` in order is compared.
constexpr bool verifies(Verify verify, std::uint64_t number) noexcept {
  return verify == Verify::all || (verify == Verify::sampled && number % kSampled == 0);
}
/// Returns how many of `messages` of one QP are compared.
constexpr std::uint64_t verified_of(Verify verify, std::uint64_t messages) noexcept {
  if (verify == Verify::none) return 0;
  return verify == Verify::all ? messages : (messages + kSampled - 1) / kSampled;
}

/// Names of the ways, indexed by their values.
inline constexpr std::array<std::pair<std::string_view, Verify>, 3> kVerifyWords = {
    {{"all", Verify::all}, {"sampled", Verify::sampled}, {"none", Verify::none}}};

/// Parameters of a connection, chosen by the client.
struct SessionParams {
  wire::Transport transport = wire::Transport::rc;  // rc, uc or ud
  wire::Operation operation = wire::Operation::write;
  bool immediate = false;
  bool echo = false;       // the responder echoes each message: a ping-pong
  bool both = false;       // it sends a message of its own for each one, without being waited for
  bool read_back = false;  // a READ fetches each message back, so its slot is not cleared
  std::uint32_t size = 0;  // bytes of a message, 1 to kMostMessage
  // messages in a region, 1 to kMostSlots; message `slots` uses the first slot again
  std::uint32_t slots = 1;
  std::uint32_t depth = 1;  // messages that may be outstanding, 1 to kMostDepth
  std::uint64_t va = 0;     // address of the client's memory, for the responder's requests
  std::uint32_t r_key = 0;
  // Applies to both directions.
  transport::RateControl rate_control = transport::RateControl::none;
  std::uint64_t rate_bps = 0;     // limit, or DCQCN's first rate
  bool selective_repeat = false;  // instead of go-back-N
  Verify verify = Verify::all;
  // payload of a packet that is not the last of its message, 64 to 14000; 0: the path MTU
  std::uint16_t packet_payload = 0;
  bool computed = false;  // of the own side: a PatternMemory holds the messages

  /// Returns true if the messages need not be stored: each is made or checked once.
  [[nodiscard]] bool computable() const noexcept {
    return !echo && !read_back && (!fetches() || operation == wire::Operation::read_request);
  }
  /// Returns true if a requester gets data back: READs and atomics.
  [[nodiscard]] bool fetches() const noexcept { return !wire::sends_data(operation); }
  /// Returns true if each message takes a receive.
  [[nodiscard]] bool takes_receive() const noexcept {
    return operation == wire::Operation::send || immediate;
  }
  /// Returns true if messages may be lost. Then each message has a number and at least eight bytes.
  [[nodiscard]] bool lossy() const noexcept { return transport != wire::Transport::rc; }
  friend bool operator==(const SessionParams&, const SessionParams&) = default;
  /// Which messages, and how many at once: what the hand-over of devices has of them.
  static const FigureTable& of_messages();
};

/// The responder's memory, in its ConnectReply.
struct RemoteMemory {
  std::uint64_t va = 0;  // address for the client's WRITEs, atomics or READs
  std::uint32_t r_key = 0;
  friend bool operator==(const RemoteMemory&, const RemoteMemory&) = default;
};

/// Meanings of a responder's counters, for each output that has them.
namespace meaning {
inline constexpr std::string_view kChecked = "Messages whose bytes were compared.";
inline constexpr std::string_view kWrong = "Messages with other bytes than were sent.";
inline constexpr std::string_view kDropped =
    "Packets dropped as a part of their message was missing.";
inline constexpr std::string_view kOtherPartition =
    "Packets with the P_Key of another partition, which were not taken.";
}  // namespace meaning

/// The responder's counters, in its DisconnectReply.
struct ServerStats {
  std::uint64_t checked = 0;          // messages received and checked as Verify says
  std::uint64_t wrong = 0;            // messages with wrong bytes among them
  std::uint64_t duplicates = 0;       // request packets; messages if lossy()
  std::uint64_t out_of_sequence = 0;  // request packets
  std::uint64_t cnps = 0;             // sent by the responder
  std::uint64_t dropped = 0;          // request packets of incomplete messages, if lossy()
  ServerStats& operator+=(const ServerStats& other) noexcept;
  static const FigureTable& figures();
  friend bool operator==(const ServerStats&, const ServerStats&) = default;
};

PrivateData to_private_data(const SessionParams& params) noexcept;
PrivateData to_private_data(const RemoteMemory& remote) noexcept;
PrivateData to_private_data(const ServerStats& stats) noexcept;
/// Checks what the bounds of single parameters don't say, of either side. Errors: perf or the
/// transport doesn't have the operation; a rate control has no rate.
[[nodiscard]] Parsed<void> check(const SessionParams& params);
/// Errors: those of check() and of unpack().
Parsed<SessionParams> read_session_params(wire::Bytes data);
std::optional<RemoteMemory> read_remote_memory(wire::Bytes data);
std::optional<ServerStats> read_server_stats(wire::Bytes data);

/// Layout of a connection's memory on either side: first the inbox, for the peer's messages and for
/// data read, then the outbox, for messages to send and for the peer's READs. Message i has slot
/// i % `slots` in each. A UD slot starts with space for a GRH (IBTA vol. 1, 11.4.1.2). Requires
/// parameters that check() accepts: then no size or address of these wraps around.
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
  /// Returns the packets that selective repeat keeps behind a gap at most: those of the messages
  /// that may be outstanding. 0 with go-back-N. `mtu` in bytes.
  [[nodiscard]] static std::uint32_t kept_packets(const SessionParams& params,
                                                  std::uint32_t mtu) noexcept;
  /// Returns the memory in bytes that a responder needs for a connection at most: the region unless
  /// it is computed, its receives or echoes, the packets that it keeps, and what each connection
  /// has.
  [[nodiscard]] static std::uint64_t cost(const SessionParams& params, std::uint32_t mtu) noexcept;
  /// Bytes from one slot to the next.
  [[nodiscard]] std::uint64_t stride() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t inbox(std::uint64_t number = 0) const noexcept {
    return base_ + number % slots_ * size_ + grh_;
  }
  /// Returns the receive for message `number` of the peer, including its GRH.
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

}  // namespace lw::gen

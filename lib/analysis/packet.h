// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/icrc_error.h"
#include "analysis/setup/setup_note.h"
#include "core/time.h"
#include "roce/cm_learner.h"
#include "roce/frame.h"

namespace lw::analysis {

/// A captured RoCE frame. `point` says where it was captured: only frames of the same point are
/// compared with each other.
struct SeenFrame {
  std::uint64_t number = 0;  // in the capture, from 1
  Instant stamp;
  std::uint32_t point = 0;
  const roce::Frame& frame;  // has a BTH
  roce::IcrcVerdict icrc = roce::IcrcVerdict::unverifiable;
};

/// Identifies a flow: all packets from `source` to `qp` of `destination`, which are
/// requests of one direction and responses of the other. UD: also the source QP; RD: the EE context
/// takes the QP's place.
struct QpFlowKey {
  std::array<std::byte, 16> source{}, destination{};  // IPv4: ::ffff:a.b.c.d, as in a GID
  std::uint32_t qp = 0, source_qp = 0;
  std::uint32_t point = 0;

  friend bool operator==(const QpFlowKey& a, const QpFlowKey& b) noexcept {
    return roce::equal_gids(a.source, b.source) && roce::equal_gids(a.destination, b.destination) &&
           a.qp == b.qp && a.source_qp == b.source_qp && a.point == b.point;
  }
};
struct QpFlowKeyHash {
  std::size_t operator()(const QpFlowKey& key) const noexcept;
};

/// What the analysis needs of a frame, without its bytes.
struct CapturedPacket {
  std::uint64_t number = 0;  // of the frame
  Instant stamp;
  const wire::OpcodeInfo* info = nullptr;  // null: a reserved opcode
  std::uint64_t va = 0;                    // of RETH or AtomicETH
  std::uint32_t flow = 0;                  // index into QpFlows
  std::uint32_t psn = 0;
  std::uint32_t payload = 0;     // bytes, without pad
  std::uint32_t dma_length = 0;  // of RETH
  std::uint32_t r_key = 0, immediate = 0, source_qp = 0;
  std::uint32_t msn = 0;
  std::uint32_t wire_length = 0;
  std::uint16_t ip_id = 0, source_port = 0, p_key = 0;
  std::uint8_t syndrome = 0;
  std::uint8_t ecn = 0, dscp = 0;
  std::uint8_t pad = 0;
  bool has_reth = false, has_aeth = false, has_immediate = false;
  bool ack_req = false, bad_icrc = false, good_icrc = false, becn = false;
  bool complete = true;         // no defect: headers and lengths are valid
  bool icrc_unwritten = false;  // a bad ICRC is a constant: nobody wrote one
  bool trimmed = false;         // the frame is shorter than its IP packet, and the capture whole

  [[nodiscard]] bool is_request() const noexcept {
    return info != nullptr && info->role == wire::Role::request;
  }
  [[nodiscard]] bool is_response() const noexcept {
    return info != nullptr && info->role == wire::Role::response;
  }
  /// Whether it is the first or only packet of a message. Requires `info`.
  [[nodiscard]] bool begins_message() const noexcept {
    return info->position == wire::Position::first || info->position == wire::Position::only;
  }
  /// Whether its transport answers requests.
  [[nodiscard]] bool is_reliable() const noexcept {
    return info != nullptr && info->transport != wire::Transport::uc &&
           info->transport != wire::Transport::ud;
  }
};

/// The path MTUs of RoCE, in bytes.
inline constexpr std::array<std::uint32_t, 5> kMtus = {256, 512, 1024, 2048, 4096};

/// Whether the packet is a datagram of management, from or to QP 0 or 1, which many peers share; or
/// one whose DETH the capture cut off.
constexpr bool is_management(const CapturedPacket& packet, const QpFlowKey& key) noexcept {
  const bool datagram = packet.info != nullptr && packet.info->transport == wire::Transport::ud;
  return datagram && (packet.source_qp <= 1 || key.qp <= 1);
}

/// All that the analysis takes from a frame. It doesn't point into the frame, so another thread may
/// use it.
struct KeyedPacket {
  /// Data that few packets have.
  struct Rare {
    std::optional<roce::CmSighting> connection;  // a connection manager's REQ or REP
    std::optional<CmNote> setup;                 // any of its messages
    std::optional<IcrcError> bad_icrc;           // of the first kMostExplained bad ICRCs
  };

  CapturedPacket packet;
  QpFlowKey key;
  std::uint64_t hash = 0;  // of `key`; computed here, as the reading thread has less work
  wire::Encapsulation encapsulation = wire::Encapsulation::ipv4;
  std::unique_ptr<Rare> rare;  // null: nothing
};

/// A captured RoCE frame that was not parsed. Members as of SeenFrame.
struct SeenEnvelope {
  std::uint64_t number = 0;
  Instant stamp;
  std::uint32_t point = 0;
  const roce::Envelope& envelope;
  roce::IcrcVerdict icrc = roce::IcrcVerdict::unverifiable;
};

/// Takes packets from frames. It explains the first kMostExplained bad ICRCs.
class PacketReader {
 public:
  static constexpr std::size_t kMostExplained = 1000;
  static constexpr std::size_t kMostSources = 1024;  // whose constant ICRCs are recognised
  static constexpr std::size_t kMostAddresses = 64;  // that may be the old ones of others

  [[nodiscard]] KeyedPacket read(const SeenFrame& seen);
  /// Like read(), without parsing. Fills `taken`, a new object, from an uncut frame with
  /// Envelope::plain and a valid ICRC, except UD and RD. False: it is another frame, which must be
  /// parsed; `taken` is undefined.
  [[nodiscard]] static bool read_plain(const SeenEnvelope& seen, KeyedPacket& taken) noexcept;

 private:
  /// The bad ICRCs of a source.
  struct Source {
    std::uint32_t icrc = 0, psn = 0;  // of the first
    bool constant = false;            // another packet has the same
  };
  void read_bad_icrc(const SeenFrame& seen, CapturedPacket& packet, KeyedPacket::Rare& rare);
  [[nodiscard]] bool is_constant(const HostAddress& source, std::uint32_t icrc, std::uint32_t psn);
  void note_address(const HostAddress& address);

  std::size_t explained_ = 0;
  std::unordered_map<std::uint64_t, Source> sources_;  // by hash of the address
  std::vector<HostAddress> addresses_;
};

}  // namespace lw::analysis

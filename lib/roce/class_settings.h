// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/figure.h"
#include "core/quantity.h"
#include "roce/compose.h"

namespace lw::roce {

/// Kinds of packets to which NICs give classes of their own. Requests, READ responses and datagrams
/// are data; an ATOMIC ACK is an ACK.
enum class ClassKind : std::uint8_t { data, ack, nak, cnp };
inline constexpr std::size_t kClassKinds = 4;
inline constexpr std::array<std::string_view, kClassKinds> kClassKindNames = {"data", "ack", "nak",
                                                                              "cnp"};
constexpr std::string_view name_of(ClassKind kind) noexcept {
  return kClassKindNames[static_cast<std::size_t>(kind)];
}

/// Kind of a packet by its opcode and, of an ACK, the syndrome of its AETH (IBTA vol. 1, 9.7.5.2).
constexpr ClassKind class_kind(std::uint8_t opcode, std::uint8_t syndrome) noexcept {
  constexpr std::uint8_t kCnp = 0x81, kOperation = 0x1f, kAck = 0x11, kAtomicAck = 0x12;
  constexpr int kSyndromeKind = 5;
  if (opcode == kCnp) return ClassKind::cnp;
  const unsigned operation = opcode & kOperation;
  if (operation == kAtomicAck) return ClassKind::ack;
  if (operation != kAck) return ClassKind::data;
  return (syndrome >> kSyndromeKind & 3) == 0 ? ClassKind::ack : ClassKind::nak;
}

/// What sorts a packet into the queues of NICs and switches.
struct ClassMarks {
  std::uint8_t dscp = 0;      // 6 bits
  std::uint8_t ecn = 2;       // ECT(0)
  std::uint8_t priority = 0;  // of the VLAN tag, if there is one
  friend bool operator==(const ClassMarks&, const ClassMarks&) = default;
};
/// By ClassKind.
using MarksOfKinds = std::array<ClassMarks, kClassKinds>;
/// As NICs send: CNPs with DSCP 48 and priority 6.
inline constexpr MarksOfKinds kUsualMarks = {{{}, {}, {}, {.dscp = 48, .priority = 6}}};

/// Meanings, for each output that has a class or its bits of ECN.
inline constexpr std::string_view kClassMeaning = "Class of the traffic that this side sends.";
inline constexpr std::string_view kEcnMeaning = "ECN: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.";

/// How the UDP source port of a connection's packets is chosen. Switches choose one of several
/// paths by it.
struct SourcePort {
  enum class By : std::uint8_t {
    number,   // this number
    qp,       // by the two QP numbers, as Linux does
    message,  // another one for each message, from 49152 to 65535
  };
  By by = By::qp;
  std::uint16_t number = 0;
  friend bool operator==(const SourcePort&, const SourcePort&) = default;
};

/// Class of traffic of an endpoint, or of the frames of a replay. A member without a value keeps
/// the usual one; in a replay that of the capture. class_settings() has its names, meanings and
/// bounds.
struct ClassOfTraffic {
  struct Marks {
    std::optional<std::uint8_t> dscp, ecn, priority;
    friend bool operator==(const Marks&, const Marks&) = default;
  };
  std::array<Marks, kClassKinds> kinds;     // by ClassKind
  std::optional<std::uint16_t> vlan;        // 12 bits; 0: a tag with a priority only
  std::optional<std::uint8_t> hop_limit;    // IPv4: TTL
  std::optional<std::uint32_t> flow_label;  // 20 bits
  std::optional<SourcePort> source_port;
  std::optional<std::uint16_t> p_key;

  [[nodiscard]] bool empty() const noexcept { return *this == ClassOfTraffic{}; }
  /// Returns this class with the values of `other` where it has none.
  [[nodiscard]] ClassOfTraffic over(const ClassOfTraffic& other) const noexcept;
  /// The marks of each kind, with the usual ones where it has none.
  [[nodiscard]] MarksOfKinds marks() const noexcept;
  friend bool operator==(const ClassOfTraffic&, const ClassOfTraffic&) = default;
  static const FigureTable& figures();
};

/// A setting of a class: an option of a command, and a key of `[class]` in a profile. `set` reads a
/// value from text; its error states what was expected and what was found.
struct ClassSetting {
  const char* options;  // "-T,--tos,--tclass"
  std::string_view key;
  const char* placeholder;
  const char* help;
  bool of_kinds;  // takes "data=26,cnp=48", too, and may be given several times
  Parsed<void> (*set)(ClassOfTraffic& target, std::string_view text);
};
std::span<const ClassSetting> class_settings() noexcept;

/// Sets what is common to all frames of a connection: VLAN tag, hop limit, flow label, P_Key, and
/// a fixed UDP source port. A flow label without a source port sets the port as Linux does
/// (rdma_flow_label_to_udp_sport).
void set_class(const ClassOfTraffic& traffic, FrameFields& fields);

/// Sets DSCP, ECN and priority of the next frame. `marked`: it has ECN CE. Requires set_class() of
/// the same class before. RoCEv1 has no ECN.
inline void set_marks(const ClassMarks& marks, bool marked, FrameFields& fields) noexcept {
  constexpr std::uint8_t kCe = 3;
  const bool v1 = fields.encapsulation == wire::Encapsulation::grh;
  const std::uint8_t ecn = v1 ? 0 : marked ? kCe : marks.ecn;
  fields.ipv4.ecn = ecn;
  fields.ipv4.dscp = marks.dscp;
  fields.ipv6.traffic_class = static_cast<std::uint8_t>(marks.dscp << 2 | ecn);
  if (!fields.vlans.empty()) fields.vlans.front().priority = marks.priority;
}

/// Whether a packet with P_Key `found` may pass to a QP with P_Key `own`: the same partition, and
/// one of them is a full member (IBTA vol. 1, 10.9.3).
constexpr bool p_keys_match(std::uint16_t own, std::uint16_t found) noexcept {
  constexpr std::uint16_t kFull = 0x8000;
  return ((own ^ found) & ~kFull & 0xffff) == 0 && ((own | found) & kFull) != 0;
}

}  // namespace lw::roce

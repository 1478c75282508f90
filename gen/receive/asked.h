// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "config/flow/profile.h"
#include "core/figure.h"
#include "gen/receive/stream_key.h"
#include "gen/traffic/template_set.h"
#include "roce/envelope.h"
#include "wire/signature.h"

namespace lw::gen {

/// Frames that differ from what their profile fixes, by field. A frame may differ in several.
struct NotAsAsked {
  std::uint64_t frames = 0;
  std::uint64_t source = 0, destination = 0;  // IP addresses
  std::uint64_t dest_qp = 0, pkey = 0, opcode = 0, psn = 0;
  std::uint64_t payload = 0;  // its length or its bytes

  NotAsAsked& operator+=(const NotAsAsked& other) noexcept;
  static const FigureTable& figures();
};

/// What a profile fixes of each frame of its flows. The flow and the number of a signed frame say
/// which one it must be. A frame without a signature has them from its addresses, QP and PSN, which
/// are not judged therefore. Frames of flows that the profile has not, or that have deliberate
/// faults, are not judged; where sizes vary, neither opcode, PSN nor the payload's length is.
class AskedFrames {
 public:
  /// `seed` of prbs31 payloads is any: senders may have another than the profile's.
  explicit AskedFrames(const config::FlowProfile& profile);
  AskedFrames(const AskedFrames&) = delete;  // plain_ points into flows_
  AskedFrames& operator=(const AskedFrames&) = delete;

  /// The addresses of a flow's signed frames; null if it is not judged.
  [[nodiscard]] const roce::FlowKey* ends_of(std::uint32_t flow) const noexcept;
  /// Compares a signed frame; one of which only the payload came has no headers, and does not
  /// differ.
  [[nodiscard]] NotAsAsked check(const wire::SignatureFields& signature,
                                 const roce::Envelope& envelope) const noexcept;
  /// Compares a frame of a stream without signatures.
  [[nodiscard]] NotAsAsked check(const StreamKey& stream, const roce::Frame& frame) const noexcept;

 private:
  struct Flow {
    bool is_signed = false, fixed_size = false;
    roce::FlowKey ends;  // addresses
    std::uint32_t dest_qp = 0;
    std::uint16_t pkey = 0;
    std::uint32_t packets = 1, psns = 1;   // of a message
    std::optional<std::uint64_t> psn_end;  // number of PSNs of all messages; none: endless
    roce::MessageFields message;
    wire::Bytes pattern;  // the longest payload, without signature; empty: prbs31 of any seed
  };
  void add(const config::Flow& flow);
  static bool has_payload(const Flow& flow, wire::Bytes payload, std::size_t begin) noexcept;

  PayloadPool payloads_;
  std::vector<std::optional<Flow>> flows_;  // by the flow's id; none: not judged
  // flows without signatures; none for a stream that several have
  std::unordered_map<StreamKey, const Flow*, StreamKeyHash> plain_;
};

}  // namespace lw::gen

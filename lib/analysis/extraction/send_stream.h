// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "analysis/extraction/data_image.h"
#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// The payload of the SENDs of one direction, in the order of their PSNs. Packets that are missing
/// within a message leave one MTU free each; the length of other missing packets is unknown.
class SendStream {
 public:
  /// A stream of `images`, which outlives this.
  SendStream(DataImages& images, std::uint32_t image) : images_(images), image_(image) {}

  /// Appends the next packet of a SEND. `missing` PSNs before it were not captured. `bytes`: the
  /// captured payload. Returns false if there is no room.
  bool append(const CapturedPacket& packet, Sequence psn, std::uint64_t missing,
              std::span<const std::byte> bytes);
  /// Stores a packet that append() has passed. Returns false if its place is not known.
  bool fill(const CapturedPacket& packet, Sequence psn, std::span<const std::byte> bytes);
  /// Reports a message whose end is missing.
  void finish();

  [[nodiscard]] DataImage& image() { return images_[image_]; }

 private:
  /// Missing packets, and where they belong.
  struct Hole {
    Sequence first = 0, end = 0;  // PSNs
    std::uint64_t position = 0;
    std::uint32_t mtu = 0;
  };
  static constexpr std::size_t kMostHoles = 64;  // the newest

  void begin(const CapturedPacket& packet);
  bool leave_hole(Sequence psn, std::uint64_t missing, std::uint64_t frame);
  void report();

  DataImages& images_;
  std::uint32_t image_;
  std::optional<DataMessage> open_;
  std::uint32_t mtu_ = 0;  // of the open message
  std::deque<Hole> holes_;
};

}  // namespace lw::analysis

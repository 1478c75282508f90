// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "capture/reader.h"
#include "nic/port.h"
#include "roce/envelope.h"

namespace lw::gen {

/// A source of packets for telemetry.
class PacketSource {
 public:
  /// A function that takes a packet. Returns false if it has no room for more packets now.
  using OnPacket = std::function<bool(const roce::Envelope&)>;

  PacketSource() = default;
  PacketSource(const PacketSource&) = delete;
  PacketSource& operator=(const PacketSource&) = delete;
  virtual ~PacketSource() = default;

  /// Passes packets to `on_packet` while there are packets and `on_packet` has room. Returns their
  /// number. Errors: a damaged capture.
  virtual Result<std::size_t> poll(const OnPacket& on_packet) = 0;
  /// Returns true if no further packet will come.
  [[nodiscard]] virtual bool ended() const noexcept = 0;
  /// Number of packets without a record: there was no room for it, or the port lost the packet.
  [[nodiscard]] virtual std::uint64_t missed() const = 0;
};

/// The packets of a capture, repeated `times` times, as fast as the receiver has room. A packet
/// waits for room.
class CapturedPackets final : public PacketSource {
 public:
  /// Requires `times` >= 1. Errors: those of the file.
  static Result<std::unique_ptr<CapturedPackets>> open(const std::string& path,
                                                       std::uint64_t times);
  Result<std::size_t> poll(const OnPacket& on_packet) override;
  [[nodiscard]] bool ended() const noexcept override { return left_ == 0; }
  [[nodiscard]] std::uint64_t missed() const override { return 0; }

 private:
  CapturedPackets(capture::Reader reader, std::string path, std::uint64_t times)
      : reader_(std::move(reader)), path_(std::move(path)), left_(times) {}
  /// Reads the next packet into waiting_, or ends a pass. Errors: those of the file.
  Result<void> read();

  capture::Reader reader_;
  std::string path_;
  std::uint64_t left_;  // remaining passes, including this one
  std::optional<roce::Envelope> waiting_;
};

/// The packets that arrive at a port. A packet without room is missed, because a port can't wait.
class PortPackets final : public PacketSource {
 public:
  /// `port` must outlive it.
  explicit PortPackets(nic::Port& port) : port_(port) {}
  Result<std::size_t> poll(const OnPacket& on_packet) override;
  [[nodiscard]] bool ended() const noexcept override { return port_.exhausted(); }
  [[nodiscard]] std::uint64_t missed() const override { return missed_ + port_.stats().unseen(); }

 private:
  static constexpr std::size_t kBurst = 32;
  nic::Port& port_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::uint64_t missed_ = 0;
};

}  // namespace lw::gen

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

/// Where telemetry's packets come from.
class PacketSource {
 public:
  /// What a caller does with a packet. False: it has no room for more now.
  using Take = std::function<bool(const roce::Envelope&)>;

  PacketSource() = default;
  PacketSource(const PacketSource&) = delete;
  PacketSource& operator=(const PacketSource&) = delete;
  virtual ~PacketSource() = default;

  /// Gives packets to `take` while there are some and it has room. Returns their number. Errors: a
  /// damaged capture.
  virtual Result<std::size_t> poll(const Take& take) = 0;
  /// No packet will come any more.
  [[nodiscard]] virtual bool ended() const noexcept = 0;
  /// Packets that came and have no record: there was no room for it, or the port had none for them.
  [[nodiscard]] virtual std::uint64_t missed() const = 0;
};

/// The packets of a capture, `times` over, as fast as there is room. A packet waits for room.
class CapturedPackets final : public PacketSource {
 public:
  /// Errors: the file's. `times` >= 1.
  static Result<std::unique_ptr<CapturedPackets>> open(const std::string& path,
                                                       std::uint64_t times);
  Result<std::size_t> poll(const Take& take) override;
  [[nodiscard]] bool ended() const noexcept override { return left_ == 0; }
  [[nodiscard]] std::uint64_t missed() const override { return 0; }

 private:
  CapturedPackets(capture::Reader reader, std::string path, std::uint64_t times)
      : reader_(std::move(reader)), path_(std::move(path)), left_(times) {}
  /// Reads the next packet into waiting_, or ends a pass. Errors: the file's.
  Result<void> read();

  capture::Reader reader_;
  std::string path_;
  std::uint64_t left_;  // passes, this one included
  std::optional<roce::Envelope> waiting_;
};

/// The packets that arrive at a port. Those without room are missed: a port can't wait.
class PortPackets final : public PacketSource {
 public:
  /// `port` outlives it.
  explicit PortPackets(nic::Port& port) : port_(port) {}
  Result<std::size_t> poll(const Take& take) override;
  [[nodiscard]] bool ended() const noexcept override { return port_.exhausted(); }
  [[nodiscard]] std::uint64_t missed() const override { return missed_ + port_.stats().unseen(); }

 private:
  static constexpr std::size_t kBurst = 32;
  nic::Port& port_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::uint64_t missed_ = 0;
};

}  // namespace lw::gen

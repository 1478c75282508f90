// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>

#include "gen/perf/session/endpoint.h"

namespace lw::gen {

// The protocol of rping, the example program of librdmacm: the client announces its source buffer
// in a SEND, the server READs it and answers with a SEND; the client announces its sink, the server
// WRITEs the same bytes into it and answers with a SEND.

/// A buffer that the client announces, in the format of rping's SENDs.
struct PingBuffer {
  std::uint64_t va = 0;
  std::uint32_t r_key = 0;
  std::uint32_t size = 0;  // bytes
  friend bool operator==(const PingBuffer&, const PingBuffer&) = default;
};

inline constexpr std::size_t kPingBufferSize = 16;

/// Writes the announcement's 16 bytes, in network byte order.
void put_ping_buffer(const PingBuffer& buffer, std::span<std::byte> bytes) noexcept;
/// Returns nothing if there are fewer than 16 bytes.
std::optional<PingBuffer> read_ping_buffer(wire::Bytes bytes) noexcept;

/// Parameters of a connection that pings up to `size` bytes. Each side's memory has two slots: the
/// first for announcements and their answers, the second for the bytes of a ping.
SessionParams ping_params(std::uint32_t size) noexcept;

/// Writes the text of ping `number` as rping's client does: a prefix, letters, and a final 0.
void put_ping_text(std::uint64_t number, std::span<std::byte> bytes) noexcept;

/// The server of rping, for one connection.
class PingServer final : public Service {
 public:
  /// Length of the longest ping in bytes: the maximum of rping's option -S.
  static constexpr std::uint32_t kLongest = 65536;

  /// `connection` is new, has the memory of ping_params(kLongest), and outlives the service.
  explicit PingServer(Connection& connection);

  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

  [[nodiscard]] ServerStats stats() const noexcept override {
    return {.checked = pings_, .wrong = wrong_};
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }

 private:
  void handle_announcement(const transport::Completion& arrival, Instant now);
  void answer(Instant now);
  void post_receive() { connection_.post(layout_.receive(0)); }

  Connection& connection_;
  MemoryLayout layout_;
  std::uint32_t size_ = 0;  // bytes of the ping whose source was read; 0: none
  std::uint64_t pings_ = 0, wrong_ = 0, bytes_ = 0;
};

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lw::nic {

/// When the frames of a send left for the wire, by the stamps that the interface's driver gives
/// them (CLOCK_REALTIME, ns). A stamp takes the kernel about as long as a frame, so only small
/// sends ask for them: those of a busy port do not. One thread.
class DepartureStamps {
 public:
  static constexpr std::size_t kMost = 4;  // frames of a send that are stamped

  /// Prepares a socket. Where the kernel knows no stamps, or the driver gives none, send() asks for
  /// none.
  void open(int socket) noexcept;

  /// Lets the kernel send what the socket's ring has: `frames` frames. Returns what ::sendmsg()
  /// returns, and sets errno as it does. Call read() then.
  std::ptrdiff_t send(int socket, std::size_t frames) noexcept;
  /// Reads the stamps of the last send(), of which the kernel took `taken` frames.
  void read(int socket, std::size_t taken) noexcept;
  /// The stamps of the frames of the last send(), in order: of all, or none.
  [[nodiscard]] std::span<const std::int64_t> last() const noexcept {
    return std::span(stamps_).first(known_);
  }

 private:
  static constexpr int kTrials = 16;  // sends without a stamp until no more are asked for

  int trials_ = 0;          // left; 0: the driver gives no stamps
  std::size_t asked_ = 0;   // frames of the last send() that should have one
  std::uint32_t next_ = 0;  // the kernel's number of the first of them
  std::size_t known_ = 0;
  std::array<std::int64_t, kMost> stamps_{};
};

}  // namespace lw::nic

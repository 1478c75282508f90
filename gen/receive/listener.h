// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <limits>

#include "capture/writer.h"
#include "gen/arp/neighbor_table.h"
#include "gen/receive/measurement.h"
#include "nic/port.h"

namespace lw::gen {

/// Takes what arrives at ports into the account, and into a copy where there is one. A burst has
/// one time of arrival: that of the look at the port that found it.
class Listener {
 public:
  /// `copy` may be null; both outlive the listener. Frames behind `most` are passed over.
  Listener(Measurement& measurement, capture::Writer* copy,
           std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
      : measurement_(measurement), copy_(copy), most_(most) {}

  /// Looks at a port once; how many frames there were. Where the port is a station too, `station`
  /// answers what is a question. Errors: the copy's.
  Result<std::size_t> poll(nic::Port& port, ResponderPort* station = nullptr);

  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
  [[nodiscard]] Instant first() const noexcept { return first_; }
  [[nodiscard]] Instant last() const noexcept { return last_; }

 private:
  static constexpr std::size_t kBurst = 64;
  Result<void> keep_copies(std::size_t count);

  Measurement& measurement_;
  capture::Writer* copy_;
  std::uint64_t most_;
  std::uint64_t frames_ = 0;
  Instant first_{}, last_{};
  std::array<rte_mbuf*, kBurst> buffers_{};
};

}  // namespace lw::gen

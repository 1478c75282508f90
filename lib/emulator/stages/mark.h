// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/chance.h"
#include "roce/envelope.h"

namespace lw::emulator {

/// RED on the emulated queue as DCQCN's congestion point has it: by the bytes in the buffer when a
/// frame comes, never below kmin, with up to pmax at kmax, always above.
struct Red {
  std::uint64_t kmin_bytes = 0, kmax_bytes = 0;  // kmin <= kmax
  double pmax = 1;
  friend bool operator==(const Red&, const Red&) = default;
};

/// What happens on RED's congestion to a frame that doesn't say ECT (RFC 3168, 5).
enum class NotEct : std::uint8_t { pass, drop };

struct MarkConfig {
  double probability = 0;       // whatever the queue holds
  std::optional<Red> red = {};  // needs the rule's queue
  NotEct not_ect = NotEct::pass;
  bool force = false;  // mark IP frames that don't say ECT, too
  friend bool operator==(const MarkConfig&, const MarkConfig&) = default;
};

enum class MarkVerdict : std::uint8_t {
  none,     // goes on as it is
  mark,     // becomes CE
  already,  // would be marked, but says CE as it comes
  not_ect,  // would be marked, but doesn't say ECT
  drop,     // the same on RED, where such frames are dropped
};

/// Says which frames are to be marked congestion experienced.
class Marker {
 public:
  Marker(const MarkConfig& config, Chance chance) noexcept
      : config_(config), probability_(config.probability), chance_(chance) {}

  [[nodiscard]] bool looks_at_queue() const noexcept { return config_.red.has_value(); }

  /// `copy` is 0 for the frame itself; `queued` the bytes in the emulated queue.
  [[nodiscard]] MarkVerdict judge(const roce::Envelope& envelope, std::uint64_t number,
                                  std::uint32_t copy, std::uint64_t queued) const noexcept;

 private:
  MarkConfig config_;
  Threshold probability_;
  Chance chance_;
};

/// Writes CE into a frame's IP header, wherever the envelope found it, and brings IPv4's checksum
/// up to date (RFC 1624). `frame` holds the envelope's bytes. The ICRC doesn't cover the field.
void set_congestion_experienced(wire::MutableBytes frame, const roce::Envelope& envelope) noexcept;

}  // namespace lw::emulator

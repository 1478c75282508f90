// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/histogram.h"
#include "core/time.h"
#include "roce/envelope.h"

namespace lw::gen {

/// What a sender finds out about itself while it sends.
struct SendAudit {
  static constexpr std::uint32_t kIcrcEvery = 4096;  // a whole ICRC every so many patched ones

  Histogram pacing_error;  // ns from a burst's due time to when the port is given it
  std::uint64_t icrc_checked = 0, icrc_bad = 0;

  void add(const SendAudit& other) noexcept {
    pacing_error.merge(other.pacing_error);
    icrc_checked += other.icrc_checked;
    icrc_bad += other.icrc_bad;
  }

  /// At one of every kIcrcEvery frames, in bursts in which `frame_at(i)` is the bytes of the i-th.
  template <class FrameAt>
  void look_at(std::size_t frames, FrameAt frame_at) noexcept {
    if (until_check_ >= frames) {
      until_check_ -= frames;
      return;
    }
    const wire::Bytes frame = frame_at(until_check_);
    until_check_ += kIcrcEvery - frames;
    ++icrc_checked;
    if (roce::check_icrc(roce::open_envelope(frame)) != roce::IcrcVerdict::ok) ++icrc_bad;
  }

 private:
  std::size_t until_check_ = 0;  // frames
};

}  // namespace lw::gen

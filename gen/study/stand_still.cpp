// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/stand_still.h"

namespace lw::gen {

void StandStill::add(Instant sent, Instant now) noexcept {
  const Arrival arrival{now, now - sent};
  if (last_) {
    const Duration silence = arrival.at - last_->at, later = arrival.latency - last_->latency;
    if (silence > silence_ && later > kShortest) total_ += std::min(silence, later);
  }
  last_ = arrival;
}

}  // namespace lw::gen

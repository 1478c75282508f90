// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/stand_still.h"

#include <utility>

namespace lw::gen {

Duration StandStill::add(Instant sent, Instant now) noexcept {
  const Arrival arrival{now, now - sent}, last = std::exchange(last_, arrival).value_or(arrival);
  const Duration silence = arrival.at - last.at, later = arrival.latency - last.latency;
  return silence > silence_ && later > kShortest ? std::min(silence, later) : Duration{};
}

}  // namespace lw::gen

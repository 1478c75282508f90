// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/channel.h"
#include "core/time.h"
#include "path/direction.h"
#include "path/ledger.h"
#include "roce/envelope.h"
#include "wire/pfc.h"

namespace lw::impair {

/// What one direction has for the other about flow control: a pause frame that came in against the
/// stream and is for the other's queues, or one that its own queues want sent against theirs.
struct PauseNote {
  enum class Kind : std::uint8_t { heard, send };
  Kind kind = Kind::heard;
  wire::PfcFields fields;
};

/// Both directions' notes to each other; each may work on a thread of its own. A note that finds
/// the channel full is lost, as a frame may be on a wire: who asks for silence asks again.
class PauseExchange {
 public:
  using Notes = Channel<PauseNote>;

  [[nodiscard]] Notes& from(path::Direction direction) noexcept {
    return direction == path::Direction::west_to_east ? from_eastward_ : from_westward_;
  }
  [[nodiscard]] Notes& to(path::Direction direction) noexcept {
    return direction == path::Direction::west_to_east ? from_westward_ : from_eastward_;
  }

 private:
  Notes from_eastward_, from_westward_;
};

/// A pause frame came in on `lane`, which accounts for it: the other direction is told what it asks
/// for, and it goes no further. Only where the lane's pipeline takes pauses. `told`: see
/// path::Lane::consume().
template <class Lane>
void take_pause(PauseExchange& exchange, Lane& lane, const wire::PfcFields& asked,
                const roce::Envelope& envelope, Instant now, path::LedgerRecord* told) noexcept {
  lane.consume(envelope, now, told);
  exchange.from(lane.pipeline().direction()).put({PauseNote::Kind::heard, asked});
}

/// What the other direction has for `lane`: its queues listen, or send(fields) lets a pause frame
/// out with its frames. And what its own queues ask for by now goes to the other.
template <class Lane, class Send>
void exchange_pauses(PauseExchange& exchange, Lane& lane, Instant now, Send send) noexcept {
  const path::Direction direction = lane.pipeline().direction();
  while (const auto note = exchange.to(direction).take()) {
    if (note->kind == PauseNote::Kind::heard) {
      lane.pause(note->fields, now);
    } else {
      send(note->fields);
    }
  }
  if (lane.pipeline().asking().empty()) return;
  if (const auto asked = lane.asks_for(now))
    exchange.from(direction).put({PauseNote::Kind::send, *asked});
}

}  // namespace lw::impair

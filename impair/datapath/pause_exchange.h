// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/handoff/spsc_queue.h"
#include "core/time.h"
#include "emulator/direction.h"
#include "emulator/ledger.h"
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
  using Notes = SpscQueue<PauseNote>;

  [[nodiscard]] Notes& from(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_eastward_ : from_westward_;
  }
  [[nodiscard]] Notes& to(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_westward_ : from_eastward_;
  }

 private:
  Notes from_eastward_, from_westward_;
};

/// A pause frame came in on `link`, which accounts for it: the other direction is told what it asks
/// for, and it goes no further. Only where the link's pipeline takes pauses. `told`: see
/// emulator::Link::consume().
template <class Link>
void take_pause(PauseExchange& exchange, Link& link, const wire::PfcFields& asked,
                const roce::Envelope& envelope, Instant now,
                emulator::LedgerRecord* told) noexcept {
  link.consume(envelope, now, told);
  exchange.from(link.pipeline().direction()).push({PauseNote::Kind::heard, asked});
}

/// What the other direction has for `link`: its queues listen, or send(fields) lets a pause frame
/// out with its frames. And what its own queues ask for by now goes to the other.
template <class Link, class Send>
void exchange_pauses(PauseExchange& exchange, Link& link, Instant now, Send send) noexcept {
  const emulator::Direction direction = link.pipeline().direction();
  while (const auto note = exchange.to(direction).pop()) {
    if (note->kind == PauseNote::Kind::heard) {
      link.pause(note->fields, now);
    } else {
      send(note->fields);
    }
  }
  if (link.pipeline().asking().empty()) return;
  if (const auto asked = link.asks_for(now))
    exchange.from(direction).push({PauseNote::Kind::send, *asked});
}

}  // namespace lw::impair

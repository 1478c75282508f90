// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/channel.h"
#include "path/direction.h"
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

}  // namespace lw::impair

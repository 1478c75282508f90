// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/time.h"
#include "impair/datapath/way.h"

namespace lw::impair {

/// A line on stderr about both directions: each second on a terminal, each five off it.
class Progress {
 public:
  explicit Progress(Instant start);

  /// Cheap unless a line is due.
  void tick(Instant now, const Way& eastward, const Way& westward);

 private:
  struct Seen {
    std::uint64_t frames = 0, bytes = 0;
  };
  static std::string describe(const Way& way, Seen& seen, double seconds);

  Duration period_;
  Instant start_, last_, next_;
  Seen east_, west_;
};

}  // namespace lw::impair

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/time.h"
#include "impair/datapath/port_io.h"

namespace lw::impair {

/// Prints a line about both directions on stderr: each second on a terminal, else each 5 s.
class Progress {
 public:
  explicit Progress(Instant start);

  /// Prints a line if it is due.
  void tick(Instant now, const PortForwarder& forwarder);

 private:
  struct Seen {
    std::uint64_t frames = 0, bytes = 0;
  };
  static std::string describe(const PortForwarder::Link& link, Seen& seen, double seconds);

  Duration period_;
  Instant start_, last_, next_;
  Seen east_, west_;
};

}  // namespace lw::impair

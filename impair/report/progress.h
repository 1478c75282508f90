// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/time.h"
#include "impair/datapath/port_io.h"
#include "report/progress.h"

namespace lw::impair {

/// Prints a line on standard error about both directions: each second on a terminal, every 5 s
/// elsewhere.
class Progress {
 public:
  explicit Progress(Instant start);

  /// Cheap unless a line is due.
  void tick(Instant now, const PortForwarder& forwarder) {
    if (display_.due(now)) [[unlikely]]
      show(now, forwarder);
  }

 private:
  struct Seen {
    std::uint64_t frames = 0, bytes = 0;
  };
  void show(Instant now, const PortForwarder& forwarder);
  static std::string describe(const PortForwarder::Link& link, Seen& seen, double seconds);

  report::Progress display_;
  Instant start_, last_;
  Seen east_, west_;
};

}  // namespace lw::impair

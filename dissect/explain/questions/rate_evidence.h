// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "dissect/explain/facts/evidence.h"

namespace lw::dissect {

/// Bytes of the longest of the queues that connections fill; 0: none.
double longest_queue_bytes(const Evidence& evidence);

/// " (104.46 kB at 8.19 Gb/s, 102 us)": the longest of the queues that connections fill; empty
/// without one.
std::string longest_queue_text(const Evidence& evidence);

/// Why nothing tells whether a link before the capture point is full: packets came at an even rate
/// and were answered at once. Empty: no connection is such, of 1 Gb/s or more.
std::string even_rate_reason(const Evidence& evidence);

/// That many packets of several hosts came to one host at about the link's rate, or the highest
/// rate that was seen. Empty: they did not.
std::string busy_link_reason(const Evidence& evidence);

/// That round trips, of a connection of 1 Gb/s or more, grew for some time. Empty: they did not.
std::string possible_queue_reason(const Evidence& evidence);

/// Why nothing tells whether a queue stood: an even rate, as above; or many packets of several
/// hosts came to one host at about the highest rate that was seen. Empty: none of these.
std::string unclear_rate_reason(const Evidence& evidence);

/// "; for 97 % of the time nothing of session 1 was in flight here: ...", of the session with the
/// most payload; empty where something was in flight for half of the time or more.
std::string idle_time_text(const Evidence& evidence);

}  // namespace lw::dissect

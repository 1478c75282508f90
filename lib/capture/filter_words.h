// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

#include "core/quantity.h"

namespace lw::capture {

/// Checks a filter before libpcap compiles it: at most kLongestFilter bytes and kMostFilterWords
/// words (capture/limits.h), and, unless `names_allowed`, no names that libpcap would look up:
/// hosts, networks, ports and protocols. A name is a word that is neither a keyword of
/// pcap-filter(7), a number, a range of numbers, nor an address. The error names the character.
Parsed<void> check_filter_words(std::string_view expression, bool names_allowed);

/// Number of words of a filter, as kMostFilterWords counts them.
std::size_t filter_words(std::string_view expression);

}  // namespace lw::capture

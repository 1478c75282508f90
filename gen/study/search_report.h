// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/study/rate_search.h"

namespace lw::gen {

/// A search for each message size, in the order asked for.
struct SizeSearch {
  std::uint64_t message_size = 0;  // bytes
  SearchResult result;
};

/// A table for people, a line a size.
std::string to_text(const std::vector<SizeSearch>& searches);
/// One line of JSON, every trial in it.
std::string to_json(const std::vector<SizeSearch>& searches, const SearchConfig& config);
/// A line a trial, with a header line.
std::string to_csv(const std::vector<SizeSearch>& searches, const SearchConfig& config);
/// A picture that needs nothing else: the rate on the wire that passed over message size, with
/// what failed above it.
std::string to_svg(const std::vector<SizeSearch>& searches, const std::string& title);

}  // namespace lw::gen

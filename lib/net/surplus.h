// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

#include "net/address.h"

namespace lw::net {

/// Returns the client that gives way when clients need too much of something, of which each has a
/// `share`: the longest idle client of the host with the largest sum. So a host can't exclude
/// another one. `clients` are in the order of their last progress, and have a `host`. Clients
/// without a share are never chosen; end(): all are.
template <class Clients, class Share>
auto surplus_client(Clients& clients, Share share) {
  std::map<Host, std::size_t> sums;
  std::size_t largest = 0;
  for (const auto& client : clients)
    largest = std::max(largest, sums[client.host] += share(client));
  return std::ranges::find_if(clients, [&](const auto& client) {
    return share(client) > 0 && sums[client.host] == largest;
  });
}

/// For a limit of the number of clients: each counts as one.
inline constexpr auto kEachClient = [](const auto&) { return std::size_t{1}; };

}  // namespace lw::net

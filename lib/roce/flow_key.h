// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "roce/frame.h"

namespace lw::roce {

/// Whose packets these are: addresses and destination QP. A QP's requests, its responses and its
/// CNPs are separate streams, so the role counts too (IBTA vol. 1, 9.7.1). IPv4 addresses stand
/// as ::ffff:a.b.c.d, as they do in a RoCE GID.
struct FlowKey {
  std::array<std::byte, 16> source{}, destination{};
  std::uint32_t dest_qp = 0;
  wire::Role role{};

  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
};

/// The key of a frame; a reserved opcode counts as a request.
FlowKey flow_key(const Frame& frame) noexcept;

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept;
};

}  // namespace lw::roce

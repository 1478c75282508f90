// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <vector>

#include "config/flow/flow_profile.h"
#include "wire/view.h"

namespace lw::gen {

/// The payloads of a run. A pattern begins anew in each packet, so one stretch of the longest MTU
/// serves all flows that use it: a shorter packet carries its beginning.
/// Spans stay valid as long as this lives. Not thread safe while it grows.
class PayloadPool {
 public:
  /// `seed` decides where in its sequence prbs31 starts.
  explicit PayloadPool(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// The first `length` bytes, at most 4096, of a pattern.
  wire::Bytes get(const config::Payload& payload, std::size_t length);

 private:
  std::uint64_t seed_;
  std::map<config::Payload, std::vector<std::byte>> patterns_;
};

}  // namespace lw::gen

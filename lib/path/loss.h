// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/chance.h"

namespace lw::path {

/// Independent loss: each frame is lost with the same probability, whatever happened to others.
class Loss {
 public:
  /// probability in [0, 1], exact to 2^-64.
  Loss(double probability, Chance chance) noexcept : below_(probability), chance_(chance) {}

  /// Whether the frame with this ingress number is lost: always the same answer.
  [[nodiscard]] bool drops(std::uint64_t ingress_number) const noexcept {
    return below_.hit(chance_.bits(ingress_number));
  }

 private:
  Threshold below_;
  Chance chance_;
};

}  // namespace lw::path

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/flow/profile.h"
#include "wire/bth.h"
#include "wire/signature.h"

namespace lw::gen {

/// Signed frames that differ from what their profile fixes, by field. A frame may differ in
/// several.
struct NotAsAsked {
  std::uint64_t frames = 0;
  std::uint64_t dest_qp = 0, pkey = 0, opcode = 0, psn = 0;
};

/// What a profile fixes of each frame of its flows. The flow and the number of a signed frame say
/// which one it must be.
class AskedFrames {
 public:
  explicit AskedFrames(std::span<const config::Flow> flows);

  /// Counts a frame in `counts` if it is not the one that the profile has. Frames of flows that the
  /// profile has not, or that have deliberate faults, are not judged; where sizes vary, the
  /// destination QP and the P_Key are.
  void check(const wire::SignatureFields& signature, const wire::Bth& bth,
             NotAsAsked& counts) const noexcept;

 private:
  struct Flow {
    bool known = false, fixed_size = false;
    std::uint32_t dest_qp = 0;
    std::uint16_t pkey = 0;
    std::uint32_t packets = 1, psns = 1;  // of a message
    roce::MessageFields message;
  };
  std::vector<Flow> flows_;  // by the flow's id
};

}  // namespace lw::gen

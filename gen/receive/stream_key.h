// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/flow/profile.h"
#include "roce/frame.h"

namespace lw::gen {

/// Identity of a stream. Signed frames are identified by the signature's flow id and the addresses,
/// independent of the QP; others by roce::FlowKey and, for datagrams, the source QP, or the
/// end-to-end context of RD, whose PSNs are those of the context.
struct StreamKey {
  roce::FlowKey key;  // of signed frames: the addresses, and the flow id as dest_qp
  std::uint32_t source_qp = 0;
  bool is_signed = false;

  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

struct StreamKeyHash {
  std::size_t operator()(const StreamKey& stream) const noexcept {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    const std::uint64_t rest = std::uint64_t{stream.source_qp} << 1 | (stream.is_signed ? 1u : 0u);
    return (roce::FlowKeyHash{}(stream.key) ^ rest) * kGolden;
  }
};

/// Returns the stream of a frame without a signature.
StreamKey plain_stream(const roce::Frame& frame) noexcept;
/// Returns the stream of a flow's frames without a signature.
StreamKey plain_stream(const config::Flow& flow);

}  // namespace lw::gen

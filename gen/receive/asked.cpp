// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/asked.h"

#include <algorithm>

#include "roce/message.h"

namespace lw::gen {

AskedFrames::AskedFrames(std::span<const config::Flow> flows) {
  for (const config::Flow& flow : flows) {
    if (!flow.signature || flow.faults) continue;
    if (flow.id >= flows_.size()) flows_.resize(flow.id + 1);
    const bool fixed = !flow.sizes.vary();
    flows_[flow.id] = {.known = true,
                       .fixed_size = fixed,
                       .dest_qp = flow.frame.bth.dest_qp,
                       .pkey = flow.frame.bth.p_key,
                       .packets = fixed ? roce::packet_count(flow.message) : 1,
                       .psns = fixed ? roce::psn_count(flow.message) : 1,
                       .message = flow.message};
  }
}

void AskedFrames::check(const wire::SignatureFields& signature, const wire::Bth& bth,
                        NotAsAsked& counts) const noexcept {
  if (signature.flow >= flows_.size() || !flows_[signature.flow].known) return;
  const Flow& flow = flows_[signature.flow];
  bool differs = false;
  const auto compare = [&](bool same, std::uint64_t& count) {
    if (same) return;
    differs = true;
    ++count;
  };
  compare(bth.dest_qp.get() == flow.dest_qp, counts.dest_qp);
  compare(bth.p_key.get() == flow.pkey, counts.pkey);
  if (flow.fixed_size) {
    const auto index = static_cast<std::uint32_t>(signature.sequence % flow.packets);
    const roce::MessagePacket packet = packet_of(flow.message, index);
    const auto earlier = static_cast<std::uint32_t>(signature.sequence / flow.packets * flow.psns);
    compare(bth.opcode.get() == packet.opcode, counts.opcode);
    compare(bth.psn() == packet.psn + earlier, counts.psn);
  }
  if (differs) ++counts.frames;
}

}  // namespace lw::gen

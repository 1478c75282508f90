// SPDX-License-Identifier: BSD-3-Clause
#include "sim/mishaps.h"

namespace lw::sim {
namespace {

emulator::Loss stage(const MishapConfig& config, double probability, const char* name) {
  return {probability, Chance(config.seed, hash_name(config.name + "/" + name))};
}

}  // namespace

Mishaps::Mishaps(const MishapConfig& config)
    : loss_(stage(config, config.loss, "loss")),
      corruption_(stage(config, config.corruption, "corruption")),
      duplication_(stage(config, config.duplication, "duplication")),
      reordering_(stage(config, config.reordering, "reordering")),
      marking_(stage(config, config.marking, "marking")),
      any_(config.loss > 0 || config.corruption > 0 || config.duplication > 0 ||
           config.reordering > 0 || config.marking > 0 || !config.targets.empty()) {
  for (const Target& target : config.targets) watches_.push_back({target, 0});
}

Disposition Mishaps::aimed(const transport::Packet& packet) noexcept {
  Disposition fate = Disposition::pass;
  for (Watch& watch : watches_) {  // all of them count, whichever acts
    const Target& target = watch.target;
    if (packet.dest_qp != target.dest_qp || packet.psn != target.psn ||
        transport::is_request(packet.opcode) == target.response ||
        packet.opcode == transport::kCnpOpcode) {
      continue;
    }
    if (++watch.seen == target.nth) fate = target.fate;
  }
  return fate;
}

Disposition Mishaps::decide(const transport::Packet& packet, std::uint64_t number) noexcept {
  if (const Disposition fate = aimed(packet); fate != Disposition::pass) return fate;
  // Independent draws: a packet's length doesn't matter.
  if (loss_.drops(number, 0)) return Disposition::drop;
  if (corruption_.drops(number, 0)) return Disposition::corrupt;
  if (duplication_.drops(number, 0)) return Disposition::duplicate;
  if (reordering_.drops(number, 0)) return Disposition::delay;
  if (marking_.drops(number, 0)) return Disposition::mark;
  return Disposition::pass;
}

}  // namespace lw::sim

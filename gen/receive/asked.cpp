// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/asked.h"

#include <algorithm>

#include "roce/message.h"

namespace lw::gen {
namespace {

constexpr std::uint64_t kPsns = std::uint64_t{1} << 24;

/// Number of PSNs of all messages of a flow; nothing if it is endless.
std::optional<std::uint64_t> all_psns_of(const config::Flow& flow, std::uint32_t of_message) {
  if (!flow.repeat) return std::nullopt;
  return std::min(flow.messages, kPsns) * std::min(*flow.repeat, kPsns) * of_message;
}

/// True for a part of the sequence of ITU-T O.150 with 2^31 - 1 bits: bit n is bit n - 31 xor bit
/// n - 28, and so is each byte, as squaring the polynomial three times shows.
bool is_prbs31(wire::Bytes part) noexcept {
  constexpr std::size_t kFar = 31, kNear = 28, kState = 4;  // bytes
  for (std::size_t i = kFar; i < part.size(); ++i)
    if (part[i] != (part[i - kFar] ^ part[i - kNear])) return false;
  return part.size() < kState ||
         std::ranges::any_of(
             part.first(kState), [](std::byte byte) { return byte != std::byte{}; });
}

/// Counts differences of one frame.
class Comparison {
 public:
  void compare(bool same, std::uint64_t& count) noexcept {
    if (same) return;
    ++count;
    counts.frames = 1;
  }
  NotAsAsked counts;
};

}  // namespace

NotAsAsked& NotAsAsked::operator+=(const NotAsAsked& other) noexcept {
  frames += other.frames;
  source += other.source;
  destination += other.destination;
  dest_qp += other.dest_qp;
  pkey += other.pkey;
  opcode += other.opcode;
  psn += other.psn;
  payload += other.payload;
  return *this;
}

const FigureTable& NotAsAsked::figures() {
  using Row = FigureOf<NotAsAsked>;
  static constexpr Figure kRows[] = {
      Row::of<&NotAsAsked::frames>("not_as_asked", "Frames that differ from the profile's."),
      Row::of<&NotAsAsked::source>("other_source",
                                   "Frames with another source address than the profile's."),
      Row::of<&NotAsAsked::destination>("other_destination", "With another destination address."),
      Row::of<&NotAsAsked::dest_qp>("other_dest_qp", "With another destination QP."),
      Row::of<&NotAsAsked::pkey>("other_pkey", "With another P_Key."),
      Row::of<&NotAsAsked::opcode>("other_opcode", "With another opcode."),
      Row::of<&NotAsAsked::psn>("other_psn", "With another PSN."),
      Row::of<&NotAsAsked::payload>("other_payload",
                                    "With another payload, or another length of it.")};
  static constexpr FigureTable kTable{"Frames that differ from the profile's.", kRows};
  return kTable;
}

AskedFrames::AskedFrames(const config::FlowProfile& profile) : payloads_(profile.seed) {
  flows_.resize(profile.flows.size());
  for (const config::Flow& flow : profile.flows)
    if (!flow.faults) add(flow);
}

void AskedFrames::add(const config::Flow& flow) {
  const StreamKey stream = plain_stream(flow);
  const bool fixed = !flow.sizes.vary();
  Flow& asked = flows_.at(flow.id).emplace();
  asked.is_signed = flow.signature;
  asked.fixed_size = fixed;
  asked.ends = stream.key;
  asked.dest_qp = flow.frame.bth.dest_qp;
  asked.pkey = flow.frame.bth.p_key;
  asked.packets = fixed ? roce::packet_count(flow.message) : 1;
  asked.psns = fixed ? roce::psn_count(flow.message) : 1;
  asked.psn_end = all_psns_of(flow, asked.psns);
  asked.message = flow.message;
  if (flow.message.operation == wire::Operation::cnp)
    asked.pattern = payloads_.get({config::Pattern::zeros, {}}, PayloadPool::kLongest);
  else if (flow.payload.pattern != config::Pattern::prbs31)
    asked.pattern = payloads_.get(flow.payload, PayloadPool::kLongest);
  const auto [place, is_new] = plain_.try_emplace(stream, &asked);
  if (!is_new) place->second = nullptr;
}

const roce::FlowKey* AskedFrames::ends_of(std::uint32_t flow) const noexcept {
  if (flow >= flows_.size() || !flows_[flow] || !flows_[flow]->is_signed) return nullptr;
  return &flows_[flow]->ends;
}

/// True if a payload is the flow's from byte `begin` on. A capture may have cut its end.
bool AskedFrames::has_payload(const Flow& flow, wire::Bytes payload, std::size_t begin) noexcept {
  if (payload.size() <= begin) return true;
  if (flow.pattern.empty()) return is_prbs31(payload.subspan(begin));
  if (payload.size() > flow.pattern.size()) return false;
  return std::ranges::equal(payload.subspan(begin),
                            flow.pattern.subspan(begin, payload.size() - begin));
}

NotAsAsked AskedFrames::check(const wire::SignatureFields& signature,
                              const roce::Envelope& envelope) const noexcept {
  if (ends_of(signature.flow) == nullptr || !envelope.is_roce()) return {};
  const auto frame = roce::parse(envelope);
  if (!frame) return {};
  const Flow& flow = *flows_[signature.flow];
  const roce::FlowKey ends = roce::flow_key(*frame);
  Comparison with;
  with.compare(roce::equal_gids(ends.source, flow.ends.source), with.counts.source);
  with.compare(roce::equal_gids(ends.destination, flow.ends.destination), with.counts.destination);
  with.compare(frame->bth->dest_qp.get() == flow.dest_qp, with.counts.dest_qp);
  with.compare(frame->bth->p_key.get() == flow.pkey, with.counts.pkey);
  bool same_length = true;
  if (flow.fixed_size) {
    const auto index = static_cast<std::uint32_t>(signature.sequence % flow.packets);
    const roce::MessagePacket packet = packet_of(flow.message, index);
    const auto earlier = static_cast<std::uint32_t>(signature.sequence / flow.packets * flow.psns);
    with.compare(frame->bth->opcode.get() == packet.opcode, with.counts.opcode);
    with.compare(frame->bth->psn() == packet.psn + earlier, with.counts.psn);
    same_length = frame->payload_length == packet.payload;
  }
  with.compare(same_length && has_payload(flow, frame->payload, sizeof(wire::Signature)),
               with.counts.payload);
  return with.counts;
}

NotAsAsked AskedFrames::check(const StreamKey& stream, const roce::Frame& frame) const noexcept {
  const auto known = plain_.find(stream);
  if (known == plain_.end() || known->second == nullptr) return {};
  const Flow& flow = *known->second;
  Comparison with;
  with.compare(frame.bth->p_key.get() == flow.pkey, with.counts.pkey);
  const std::uint32_t number =
      (frame.bth->psn().value() - flow.message.first_psn.value()) & wire::Psn::kMask;
  const bool ends = flow.psn_end && *flow.psn_end <= kPsns;
  bool same_length = true;
  if (flow.fixed_size && (ends || kPsns % flow.psns == 0)) {
    const std::uint32_t index = number % flow.psns;
    const bool sent = index < flow.packets && (!ends || number < *flow.psn_end);
    with.compare(sent, with.counts.psn);
    const roce::MessagePacket packet = packet_of(flow.message, sent ? index : 0);
    with.compare(!sent || frame.bth->opcode.get() == packet.opcode, with.counts.opcode);
    same_length = !sent || frame.payload_length == packet.payload;
  }
  with.compare(same_length && has_payload(flow, frame.payload, 0), with.counts.payload);
  return with.counts;
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/terms.h"

#include <cstring>

#include "wire/big_endian.h"

namespace lw::gen {
namespace {

using transport::RateControl;
using wire::Be16, wire::Be32, wire::Be64, wire::Be8;
using wire::Operation, wire::Transport;

constexpr std::uint32_t kMagic = 0x4c575046;  // LWPF
constexpr std::uint8_t kVersion = 2;
enum class Kind : std::uint8_t { terms = 1, offer = 2, findings = 3 };

struct Head {
  Be32 magic{kMagic};
  Be8 version{kVersion};
  Be8 kind;
};
struct TermsData {
  Head head{.kind = Be8{static_cast<std::uint8_t>(Kind::terms)}};
  Be8 operation, flags;
  Be32 size, slots, depth;
  Be64 va;
  Be32 r_key;
  Be8 rate_control, transport;
  Be16 reserved;
  Be64 rate_bps;
};
struct OfferData {
  Head head{.kind = Be8{static_cast<std::uint8_t>(Kind::offer)}};
  Be16 reserved;
  Be64 va;
  Be32 r_key;
};
struct FindingsData {
  Head head{.kind = Be8{static_cast<std::uint8_t>(Kind::findings)}};
  Be16 reserved;
  Be64 checked, wrong, duplicates, out_of_sequence, cnps, dropped;
};
constexpr std::uint8_t kImmediate = 1, kEcho = 2, kSelective = 4;

template <class Data>
PrivateData to_bytes(const Data& data) noexcept {
  static_assert(sizeof(Data) <= std::tuple_size_v<PrivateData>);
  PrivateData bytes{};
  std::memcpy(bytes.data(), &data, sizeof data);
  return bytes;
}

template <class Data>
const Data* view_of(wire::Bytes bytes) noexcept {
  const auto* data = wire::view<Data>(bytes);
  return data != nullptr && data->head == Data{}.head ? data : nullptr;
}

bool operator==(const Head& a, const Head& b) noexcept {
  return a.magic == b.magic && a.version == b.version && a.kind == b.kind;
}

bool is_ours(Operation operation) noexcept {
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_request || operation == Operation::fetch_add;
}

/// What the transport has; a UD message's size the responder holds against the MTU.
bool is_carried(const Terms& terms) noexcept {
  if (terms.transport == Transport::rc) return true;
  if (terms.echo || terms.size < sizeof(std::uint64_t)) return false;
  if (terms.operation == Operation::send) {
    return terms.transport == Transport::uc || terms.transport == Transport::ud;
  }
  return terms.transport == Transport::uc && terms.operation == Operation::write;
}

bool is_sound_rate(const Terms& terms) noexcept {
  return terms.rate_control == RateControl::none ||
         (terms.rate_control <= RateControl::dcqcn && terms.rate_bps > 0);
}

}  // namespace

PrivateData to_private_data(const Terms& terms) noexcept {
  TermsData data;
  data.operation.set(static_cast<std::uint8_t>(terms.operation));
  data.flags.set(static_cast<std::uint8_t>((terms.immediate ? kImmediate : 0) |
                                           (terms.echo ? kEcho : 0) |
                                           (terms.selective_repeat ? kSelective : 0)));
  data.size.set(terms.size);
  data.slots.set(terms.slots);
  data.depth.set(terms.depth);
  data.va.set(terms.va);
  data.r_key.set(terms.r_key);
  data.rate_control.set(static_cast<std::uint8_t>(terms.rate_control));
  data.transport.set(static_cast<std::uint8_t>(terms.transport));
  data.rate_bps.set(terms.rate_bps);
  return to_bytes(data);
}

PrivateData to_private_data(const Offer& offer) noexcept {
  OfferData data;
  data.va.set(offer.va);
  data.r_key.set(offer.r_key);
  return to_bytes(data);
}

PrivateData to_private_data(const Findings& findings) noexcept {
  FindingsData data;
  data.checked.set(findings.checked);
  data.wrong.set(findings.wrong);
  data.duplicates.set(findings.duplicates);
  data.out_of_sequence.set(findings.out_of_sequence);
  data.cnps.set(findings.cnps);
  data.dropped.set(findings.dropped);
  return to_bytes(data);
}

std::optional<Terms> read_terms(wire::Bytes bytes) noexcept {
  const auto* data = view_of<TermsData>(bytes);
  if (data == nullptr) return std::nullopt;
  const Terms terms{.transport = static_cast<Transport>(data->transport.get()),
                    .operation = static_cast<Operation>(data->operation.get()),
                    .immediate = (data->flags.get() & kImmediate) != 0,
                    .echo = (data->flags.get() & kEcho) != 0,
                    .size = data->size.get(),
                    .slots = data->slots.get(),
                    .depth = data->depth.get(),
                    .va = data->va.get(),
                    .r_key = data->r_key.get(),
                    .rate_control = static_cast<RateControl>(data->rate_control.get()),
                    .rate_bps = data->rate_bps.get(),
                    .selective_repeat = (data->flags.get() & kSelective) != 0};
  const bool sound = is_ours(terms.operation) && terms.size > 0 && terms.slots > 0 &&
                     terms.depth > 0 && is_sound_rate(terms) && is_carried(terms);
  return sound ? std::optional(terms) : std::nullopt;
}

std::optional<Offer> read_offer(wire::Bytes bytes) noexcept {
  const auto* data = view_of<OfferData>(bytes);
  if (data == nullptr) return std::nullopt;
  return Offer{.va = data->va.get(), .r_key = data->r_key.get()};
}

std::optional<Findings> read_findings(wire::Bytes bytes) noexcept {
  const auto* data = view_of<FindingsData>(bytes);
  if (data == nullptr) return std::nullopt;
  return Findings{.checked = data->checked.get(),
                  .wrong = data->wrong.get(),
                  .duplicates = data->duplicates.get(),
                  .out_of_sequence = data->out_of_sequence.get(),
                  .cnps = data->cnps.get(),
                  .dropped = data->dropped.get()};
}

}  // namespace lw::gen

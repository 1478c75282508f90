// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/capture_point.h"

#include <cstring>

#include "dissect/fields/frame_source.h"
#include "wire/bth.h"

namespace lw::dissect {
namespace {

/// Two independent hashes by multiply and fold over 64-bit words. Not for frames that were chosen
/// to collide.
class Hasher {
 public:
  void add(std::uint64_t word) noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      halves_[i] = (halves_[i] ^ word) * kMultipliers[i];
      halves_[i] ^= halves_[i] >> 29;
    }
  }
  template <class Address>
  void add_address(const Address& address) noexcept {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof(Address) <= sizeof words);
    std::memcpy(words.data(), &address, sizeof address);
    add(words[0]);
    add(words[1]);
  }
  [[nodiscard]] Identity identity() const noexcept { return halves_; }

 private:
  static constexpr std::array<std::uint64_t, 2> kMultipliers = {0x9e3779b97f4a7c15,
                                                                0xc2b2ae3d27d4eb4f};
  Identity halves_ = {0x6c6f6e6777697265, 0x1903500};
};

void add_addresses(Hasher& hasher, const roce::Envelope& envelope) noexcept {
  if (envelope.ipv4) {
    hasher.add_address(envelope.ipv4->source);
    hasher.add_address(envelope.ipv4->destination);
    return;
  }
  const wire::Ipv6& ip = envelope.ipv6 ? *envelope.ipv6 : *envelope.grh;
  hasher.add_address(ip.source);
  hasher.add_address(ip.destination);
}

}  // namespace

std::optional<Identity> identity_of(const roce::Envelope& envelope) noexcept {
  const auto place = roce::expected_icrc(envelope);
  if (!place) return std::nullopt;
  const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(envelope.encapsulation()));
  add_addresses(hasher, envelope);
  hasher.add(std::uint64_t{bth->dest_qp.get()} << 32 | bth->psn().value() << 8 | bth->opcode.get());
  hasher.add(std::uint64_t{wire::load_icrc(envelope.bytes.subspan(place->offset, 4))} << 32 |
             (place->offset - envelope.network_offset));
  return hasher.identity();
}

std::uint32_t FlowNames::index_of(roce::FlowKey key) {
  key.role = {};
  if (last_ && last_->first == key) return last_->second;
  const std::size_t before = indices_.size();
  bool full = false;
  Index& index = indices_.use(key, [&](const Index& gone) {
    forgotten_[gone.value] = true;
    full = true;
  });
  if (full || indices_.size() > before) {
    index.value = static_cast<std::uint32_t>(forgotten_.size());
    forgotten_.push_back(false);
  }
  last_ = {key, index.value};
  return index.value;
}

namespace {

void add_frame(CapturePoint& point, const CapturedFrame& captured, FlowNames& flows) {
  const roce::Envelope& envelope = captured.envelope;
  const auto verdict = roce::check_icrc(envelope);
  if (verdict == roce::IcrcVerdict::not_roce) return;
  ++point.roce;
  const auto identity = identity_of(envelope);
  const auto frame = roce::parse(envelope);
  if (!identity || !frame) {
    ++point.unidentified;
    return;
  }
  const roce::FlowKey key = roce::flow_key(*frame);
  point.records.push_back({.identity = *identity,
                           .stamp_ns = to_ns(captured.record.stamp),
                           .order = static_cast<std::uint32_t>(point.records.size()),
                           .flow = flows.index_of(key),
                           .dest_qp = key.dest_qp,
                           .psn = frame->bth->psn().value(),
                           .opcode = frame->bth->opcode.get(),
                           .bad_icrc = verdict == roce::IcrcVerdict::bad});
}

}  // namespace

Result<CapturePoint> read_point(const std::string& place, const std::string& filter,
                                FlowNames& flows) {
  auto source = FrameSource::open(place, filter);
  if (!source) return std::unexpected(source.error());
  CapturePoint point;
  point.file = place;
  for (;;) {
    const auto frame = source->next();
    if (!frame && frame.error().exit == ExitCode::usage) return std::unexpected(frame.error());
    if (!frame) point.damage = frame.error();
    if (!frame || !*frame) return point;
    ++point.frames;
    add_frame(point, **frame, flows);
  }
}

}  // namespace lw::dissect

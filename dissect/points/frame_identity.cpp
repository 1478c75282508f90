// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "capture/record.h"
#include "dissect/points/identity_rule.h"

namespace lw::dissect {
namespace {

constexpr std::size_t kViewBody = 64;  // bytes behind the BTH that make a view's identity

/// A hash by multiply and fold over 64-bit words.
class WordHash {
 public:
  void add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  template <class Address>
  void add_address(const Address& address) noexcept {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof(Address) <= sizeof words);
    std::memcpy(words.data(), &address, sizeof address);
    add(words[0]);
    add(words[1]);
  }
  void add_bytes(wire::Bytes bytes) noexcept {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) add(word_of(bytes.first(8)));
    if (!bytes.empty()) add(word_of(bytes));
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  static std::uint64_t word_of(wire::Bytes bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
  }
  std::uint64_t value_ = 0x6c6f6e6777697265;
};

void add_addresses(WordHash& hash, const roce::Envelope& envelope) noexcept {
  if (envelope.ipv4) {
    hash.add_address(envelope.ipv4->source);
    hash.add_address(envelope.ipv4->destination);
    return;
  }
  const wire::Ipv6& ip = envelope.ipv6 ? *envelope.ipv6 : *envelope.grh;
  hash.add_address(ip.source);
  hash.add_address(ip.destination);
}

/// The captured bytes between BTH and ICRC, at most `most`.
wire::Bytes body_of(const roce::Frame& frame, std::size_t most) noexcept {
  const std::size_t begin = frame.envelope.bth_offset() + sizeof(wire::Bth);
  return frame.envelope.bytes.subspan(std::min(begin, frame.envelope.bytes.size()),
                                      std::min(most, captured_body_of(frame)));
}

/// The captured extension headers: from the BTH's end to the payload.
wire::Bytes extensions_of(const roce::Frame& frame) noexcept {
  std::size_t size = 0;
  wire::for_each_extension(
      [&]<class Header>(wire::Extension, const Header* header) {
        if (header) size += sizeof(Header);
      },
      frame);
  return frame.envelope.bytes.subspan(frame.envelope.bth_offset() + sizeof(wire::Bth), size);
}

/// Encapsulation, addresses, IP identification, UDP source port, and the BTH without the byte that
/// routers may change.
void add_headers(WordHash& hash, const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const wire::Bth& bth = *frame.bth;
  hash.add(static_cast<std::uint64_t>(envelope.encapsulation()));
  add_addresses(hash, envelope);
  const std::uint64_t id = envelope.ipv4 ? envelope.ipv4->id.get() : 0;
  hash.add(id << 16 | (envelope.udp ? envelope.udp->source_port.get() : 0));
  hash.add(std::uint64_t{bth.opcode.get()} << 32 | std::uint64_t{bth.flags.get()} << 16 |
           bth.p_key.get());
  hash.add(std::uint64_t{bth.dest_qp.get()} << 32 | std::uint64_t{bth.acknowledge.get()} << 24 |
           bth.psn().value());
}

/// By at most `most` bytes behind the BTH, whatever they are.
Identity body_identity(const roce::Frame& frame, std::size_t most) noexcept {
  WordHash hash;
  add_headers(hash, frame);
  hash.add(frame.envelope.network_end - frame.envelope.bth_offset());
  hash.add_bytes(body_of(frame, most));
  return hash.value();
}

Identity content_identity(const roce::Frame& frame, std::size_t payload) noexcept {
  WordHash hash;
  add_headers(hash, frame);
  hash.add_bytes(extensions_of(frame));
  hash.add(frame.payload_length);
  hash.add_bytes(frame.payload.first(std::min(payload, frame.payload.size())));
  return hash.value();
}

Identity icrc_identity(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const wire::Bth& bth = *frame.bth;
  const auto offset = static_cast<std::size_t>(frame.icrc.data() - envelope.bytes.data());
  WordHash hash;
  hash.add(static_cast<std::uint64_t>(envelope.encapsulation()));
  add_addresses(hash, envelope);
  hash.add(std::uint64_t{bth.dest_qp.get()} << 32 | bth.psn().value() << 8 | bth.opcode.get());
  hash.add(offset - envelope.network_offset);
  return (hash.value() & ~Identity{0xffffffff}) | wire::load_icrc(frame.icrc);
}

std::optional<Identity> by_content(const roce::Frame& frame, std::size_t payload) noexcept {
  const std::size_t needed = std::min(payload, frame.payload_length);
  const bool cut =
      is_cut(frame) && (frame.defect->layer == "payload" || frame.defect->layer == "icrc");
  if ((frame.defect && !cut) || frame.payload.size() < needed) return std::nullopt;
  return content_identity(frame, needed);
}

}  // namespace

bool is_cut(const roce::Frame& frame) noexcept {
  return frame.defect && frame.defect->problem == roce::Problem::cut;
}

std::size_t captured_body_of(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const std::size_t begin = envelope.bth_offset() + sizeof(wire::Bth);
  const std::size_t end = std::min(envelope.network_end - wire::kIcrcSize, envelope.bytes.size());
  return end > begin ? end - begin : 0;
}

std::uint32_t body_hash_of(const roce::Frame& frame, std::size_t most) noexcept {
  WordHash hash;
  hash.add_bytes(body_of(frame, most));
  return static_cast<std::uint32_t>(hash.value() >> 32);
}

std::optional<Identity> identity_of(const roce::Frame& frame, const IdentityRule& rule) noexcept {
  if (rule.by_icrc) {
    if (frame.icrc.empty() || !roce::icrc_offset(frame.envelope)) return std::nullopt;
    return icrc_identity(frame);
  }
  if (!frame.bth || frame.envelope.fragment) return std::nullopt;
  if (rule.body == IdentityRule::kWhole) return by_content(frame, rule.payload);
  if (frame.defect && !is_cut(frame)) return std::nullopt;
  return body_identity(frame, rule.body);
}

std::optional<Identity> view_identity_of(const roce::Frame& frame) noexcept {
  if (!frame.bth || frame.envelope.fragment || (frame.defect && !is_cut(frame)))
    return std::nullopt;
  return body_identity(frame, kViewBody);
}

ViewForm view_form_of(const roce::Envelope& envelope, int link_type) noexcept {
  constexpr std::size_t kSll2Interface = 4;  // offset (LINKTYPE_LINUX_SLL2)
  ViewForm form{.vlans = static_cast<std::uint8_t>(envelope.vlan_count),
                .hop_limit = envelope.hop_limit(),
                .traffic_class = static_cast<std::uint8_t>(envelope.dscp() << 2 | envelope.ecn())};
  if (envelope.ethernet) std::memcpy(form.macs.data(), envelope.ethernet, form.macs.size());
  if (envelope.vlan_count > 0) form.vlan = envelope.vlans[0]->control.get();
  if (link_type == capture::kLinkTypeLinuxSll2 && envelope.bytes.size() >= kSll2Interface + 4)
    for (std::size_t i = 0; i < 4; ++i)
      form.interface =
          form.interface << 8 | std::to_integer<std::uint32_t>(envelope.bytes[kSll2Interface + i]);
  return form;
}

std::string_view difference_of(const ViewForm& a, const ViewForm& b) noexcept {
  if (a.vlans != b.vlans || a.vlan != b.vlan) return "VLAN tags";
  if (a.hop_limit != b.hop_limit) return "TTL";
  if (a.macs != b.macs) return "MAC addresses";
  if (a.interface != b.interface) return "interface index";
  return a.traffic_class != b.traffic_class ? "traffic class" : "";
}

}  // namespace lw::dissect

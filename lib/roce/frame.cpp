// SPDX-License-Identifier: BSD-3-Clause
#include "roce/frame.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lw::roce {
namespace {

using wire::view_at;

/// Reads the headers after the BTH. `limit` is the ICRC's offset by the packet's own lengths.
class Cursor {
 public:
  Cursor(Frame& frame, std::size_t offset, std::size_t limit) noexcept
      : frame_(frame), offset_(offset), limit_(limit) {}

  template <class Header>
  void read(const Header*& header) noexcept {
    if (!fits(sizeof(Header), Header::kLayer)) return;
    header = view_at<Header>(frame_.envelope.bytes, offset_);
    offset_ += sizeof(Header);
  }

  [[nodiscard]] bool fits(std::size_t size, std::string_view layer) noexcept {
    if (offset_ + size > limit_) return stop(Problem::too_short, layer);
    if (offset_ + size > frame_.envelope.bytes.size()) return stop(Problem::cut, layer);
    return true;
  }

  bool stop(Problem problem, std::string_view layer) noexcept {
    if (!frame_.defect) frame_.defect = ParseError{problem, layer, offset_};
    return false;
  }

 private:
  Frame& frame_;
  std::size_t offset_;
  std::size_t limit_;
};

void take_extensions(Frame& frame, Cursor& cursor) noexcept {
  const wire::ExtensionSet set = frame.info->extensions;
  wire::for_each_extension(
      [&]<class Header>(wire::Extension extension, const Header*& header) {
        if (set.has(extension) && !frame.defect) cursor.read(header);
      },
      frame);
}

/// The payload from `start` on. Its length is known even if the capture ends before it.
void take_payload(Frame& frame, Cursor& cursor, std::size_t start,
                  std::size_t icrc_offset) noexcept {
  const std::size_t pad = frame.bth->pad_count();
  if (start + pad > icrc_offset) {
    cursor.stop(Problem::too_short, "payload");
    return;
  }
  frame.payload_length = icrc_offset - start - pad;
  const std::size_t captured = frame.envelope.bytes.size();
  const std::size_t end = std::min(start + frame.payload_length, captured);
  if (start < end) frame.payload = frame.envelope.bytes.subspan(start, end - start);
  if (captured < icrc_offset) cursor.stop(Problem::cut, "payload");
}

/// A UD SEND to QP 1 carries a MAD. (IBTA vol. 1, 13.4)
void take_mad(Frame& frame) noexcept {
  if (frame.info->transport == wire::Transport::ud &&
      frame.bth->dest_qp.get() == wire::kGeneralServicesQp) {
    frame.mad = wire::view<wire::Mad>(frame.payload);
  }
}

void take_icrc(Frame& frame, Cursor& cursor, std::size_t offset) noexcept {
  if (offset + wire::kIcrcSize <= frame.envelope.bytes.size()) {
    frame.icrc = frame.envelope.bytes.subspan(offset, wire::kIcrcSize);
  } else {
    cursor.stop(Problem::cut, "icrc");
  }
}

/// Whether the UDP and the IP length end the packet at the same offset.
bool lengths_agree(const Envelope& envelope) noexcept {
  if (!envelope.udp) return true;
  return envelope.transport_offset + envelope.udp->length.get() == envelope.network_end;
}

void read_behind_bth(Frame& frame) noexcept {
  const Envelope& envelope = frame.envelope;
  const std::size_t start = envelope.bth_offset() + sizeof(wire::Bth);
  if (start + wire::kIcrcSize > envelope.network_end) {
    frame.defect = ParseError{Problem::too_short, "icrc", start};
    return;
  }
  const std::size_t icrc_offset = envelope.network_end - wire::kIcrcSize;
  Cursor cursor(frame, start, icrc_offset);
  if (envelope.fragment) {
    cursor.stop(Problem::fragment, "ip");
  } else if (!lengths_agree(envelope)) {
    cursor.stop(Problem::length_mismatch, "udp");
  } else if (!frame.info) {
    cursor.stop(Problem::reserved_opcode, "bth");
  } else {
    take_extensions(frame, cursor);
    if (!frame.defect || frame.defect->problem == Problem::cut) {
      take_payload(frame, cursor, start + frame.info->extensions.size(), icrc_offset);
      take_mad(frame);
    }
  }
  if (!envelope.fragment) take_icrc(frame, cursor, icrc_offset);
}

std::string_view text_of(Problem problem) noexcept {
  switch (problem) {
    case Problem::not_roce:
      return "not RoCE";
    case Problem::fragment:
      return "a fragment of an IP packet";
    case Problem::cut:
      return "the capture ends here";
    case Problem::too_short:
      return "the frame's lengths leave no room for it";
    case Problem::length_mismatch:
      return "IP and UDP lengths contradict each other";
    case Problem::reserved_opcode:
      return "a reserved opcode";
  }
  return "unknown";
}

std::uint64_t load(const std::array<std::byte, 16>& bytes, std::size_t offset) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// One step of a multiplicative hash; the constant is 2^64 over the golden ratio.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

}  // namespace

std::string to_string(const ParseError& error) {
  return fmt::format("{} at offset {}: {}", error.layer, error.offset, text_of(error.problem));
}

std::string defect_text(const Frame& frame) {
  if (!frame.defect) return {};
  const Envelope& envelope = frame.envelope;
  if (frame.defect->problem != Problem::cut || !envelope.is_trimmed())
    return to_string(*frame.defect);
  return fmt::format(
      "{} at offset {}: trimmed (the frame ends here, {} bytes before its IP packet)",
      frame.defect->layer, frame.defect->offset, envelope.network_end - envelope.wire_length);
}

std::expected<Frame, ParseError> parse(const Envelope& envelope) noexcept {
  if (!envelope.is_roce()) {
    const bool piece = envelope.fragment && !envelope.udp;
    return std::unexpected(
        ParseError{piece ? Problem::fragment : Problem::not_roce, "ip", envelope.network_offset});
  }
  const std::size_t offset = envelope.bth_offset();
  if (offset + sizeof(wire::Bth) > envelope.network_end) {
    return std::unexpected(ParseError{Problem::too_short, "bth", offset});
  }
  Frame frame;
  frame.envelope = envelope;
  frame.bth = view_at<wire::Bth>(envelope.bytes, offset);
  if (!frame.bth) return std::unexpected(ParseError{Problem::cut, "bth", offset});
  frame.info = wire::find_opcode(frame.bth->opcode.get());
  read_behind_bth(frame);
  return frame;
}

std::expected<Frame, ParseError> parse(Bytes bytes, std::size_t wire_length) noexcept {
  return parse(open_envelope(bytes, wire_length));
}

FlowKey flow_key(const Frame& frame) noexcept {
  FlowKey key;
  const Envelope& envelope = frame.envelope;
  if (envelope.ipv4) {
    key.source = mapped(envelope.ipv4->source);
    key.destination = mapped(envelope.ipv4->destination);
  } else {
    const wire::Ipv6* ip = envelope.ipv6 ? envelope.ipv6 : envelope.grh;
    key.source = ip->source.bytes;
    key.destination = ip->destination.bytes;
  }
  key.dest_qp = frame.bth->dest_qp.get();
  key.role = frame.info ? frame.info->role : wire::Role::request;
  return key;
}

std::size_t FlowKeyHash::operator()(const FlowKey& key) const noexcept {
  std::uint64_t hash = mix(std::uint64_t{key.dest_qp} << 8, static_cast<std::uint64_t>(key.role));
  for (const std::size_t offset : {std::size_t{0}, std::size_t{8}}) {
    hash = mix(mix(hash, load(key.source, offset)), load(key.destination, offset));
  }
  return hash;
}

}  // namespace lw::roce

// SPDX-License-Identifier: BSD-3-Clause
#include "roce/frame.h"

#include <algorithm>

#include <fmt/format.h>

#include "wire/deth.h"

namespace lw::roce {
namespace {

using wire::Extension;
using wire::view_at;

/// Reads on behind the BTH, one header after the other. `limit` is where the packet's own lengths
/// put its ICRC; `captured` where the bytes end.
class Cursor {
 public:
  Cursor(Frame& frame, std::size_t offset, std::size_t limit) noexcept
      : frame_(frame), offset_(offset), limit_(limit) {}

  template <class Header>
  void take(const Header*& header, Extension extension, std::string_view layer) noexcept {
    if (frame_.defect || !frame_.info->extensions.has(extension)) return;
    if (!fits(sizeof(Header), layer)) return;
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

  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

 private:
  Frame& frame_;
  std::size_t offset_;
  std::size_t limit_;
};

void take_extensions(Frame& frame, Cursor& cursor) noexcept {
  cursor.take(frame.rdeth, Extension::rdeth, "rdeth");
  cursor.take(frame.deth, Extension::deth, "deth");
  cursor.take(frame.xrceth, Extension::xrceth, "xrceth");
  cursor.take(frame.feth, Extension::feth, "feth");
  cursor.take(frame.reth, Extension::reth, "reth");
  cursor.take(frame.atomiceth, Extension::atomiceth, "atomiceth");
  cursor.take(frame.aeth, Extension::aeth, "aeth");
  cursor.take(frame.atomicacketh, Extension::atomicacketh, "atomicacketh");
  cursor.take(frame.immdt, Extension::immdt, "immdt");
  cursor.take(frame.ieth, Extension::ieth, "ieth");
}

void take_payload(Frame& frame, Cursor& cursor, std::size_t icrc_offset) noexcept {
  const std::size_t start = cursor.offset();
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

/// A MAD is what a UD SEND to QP 1 carries. (IBTA vol. 1, 13.4)
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

/// Where UDP's own length puts the packet's end, which IP's must agree with.
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
    if (!frame.defect) take_payload(frame, cursor, icrc_offset);
    if (!frame.defect || frame.defect->problem == Problem::cut) take_mad(frame);
  }
  if (!envelope.fragment) take_icrc(frame, cursor, icrc_offset);
}

std::string_view words_of(Problem problem) noexcept {
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

}  // namespace

std::string to_string(const ParseError& error) {
  return fmt::format("{} at offset {}: {}", error.layer, error.offset, words_of(error.problem));
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

}  // namespace lw::roce

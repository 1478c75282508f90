// SPDX-License-Identifier: BSD-3-Clause
#include "capture/blocks.h"

#include <algorithm>

#include "capture/pcapng_block.h"
#include "capture/reader.h"

namespace lw::capture {
namespace {

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_option(std::string& out, std::uint16_t code, std::string_view value) {
  value = value.substr(0, kMostOption);
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  out.append(value).append(in_words(value.size()) - value.size(), '\0');
}

void put_number_option(std::string& out, std::uint16_t code, std::uint64_t value) {
  put_option(out, code, {reinterpret_cast<const char*>(&value), sizeof value});
}

/// Appends a block with a padded body.
void put_block(std::string& out, std::uint32_t type, std::string_view body) {
  const auto size = static_cast<std::uint32_t>(body.size() + kBlockOverhead);
  put(out, type);
  put(out, size);
  out.append(body);
  put(out, size);
}

std::string section_body() {
  std::string body;
  put(body, kByteOrderMagic);
  put(body, std::uint16_t{1});
  put(body, std::uint16_t{0});
  put(body, ~std::uint64_t{0});  // section length: unknown
  return body;
}

std::string interface_body(const Interface& interface) {
  std::string body;
  put(body, static_cast<std::uint16_t>(interface.link_type));
  put(body, std::uint16_t{0});
  put(body, interface.snap_length);
  if (!interface.name.empty()) put_option(body, kOptionName, interface.name);
  put_option(body, kOptionResolution, "\x09");
  if (interface.fcs_bytes != 0)
    put_option(body, kOptionFcsLength, std::string(1, static_cast<char>(interface.fcs_bytes)));
  put(body, std::uint32_t{0});  // end of options
  return body;
}

/// The start of an enhanced packet block, up to the frame's bytes.
struct PacketHead {
  std::uint32_t type, size, interface, ns_high, ns_low, captured, wire_length;
};

struct PcapHead {
  std::uint32_t seconds, fraction, captured, wire_length;
};
static_assert(sizeof(PcapHead) == kPcapHead);

}  // namespace

std::uint32_t packet_size(const FrameHead& frame, std::string_view comment) noexcept {
  std::size_t size = sizeof(PacketHead) + in_words(frame.captured) + sizeof(std::uint32_t);
  // a comment's code and length, and the end of the options
  if (!comment.empty()) size += 4 + in_words(std::min(comment.size(), kMostOption)) + 4;
  return static_cast<std::uint32_t>(size);
}

void put_pcapng_start(std::string& out, std::span<const Interface> interfaces) {
  put_block(out, kSectionHeaderBlock, section_body());
  for (const Interface& interface : interfaces)
    put_block(out, kInterfaceBlock, interface_body(interface));
}

void put_pcapng_head(std::string& out, const FrameHead& frame, std::string_view comment) {
  put(out,
      PacketHead{.type = kEnhancedPacketBlock,
                 .size = packet_size(frame, comment),
                 .interface = frame.interface,
                 .ns_high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(frame.ns) >> 32),
                 .ns_low = static_cast<std::uint32_t>(frame.ns),
                 .captured = frame.captured,
                 .wire_length = frame.wire_length});
}

void put_pcapng_end(std::string& out, const FrameHead& frame, std::string_view comment) {
  out.append(in_words(frame.captured) - frame.captured, '\0');
  if (!comment.empty()) {
    put_option(out, kOptionComment, comment);
    put(out, std::uint32_t{0});
  }
  put(out, packet_size(frame, comment));
}

void put_pcapng_statistics(std::string& out, const InterfaceStatistics& statistics) {
  const auto ns = static_cast<std::uint64_t>(statistics.ns);
  std::string body;
  put(body, statistics.interface);
  put(body, static_cast<std::uint32_t>(ns >> 32));
  put(body, static_cast<std::uint32_t>(ns));
  put_number_option(body, kOptionReceived, statistics.received);
  put_number_option(body, kOptionDropped, statistics.dropped);
  put(body, std::uint32_t{0});  // end of options
  put_block(out, kStatisticsBlock, body);
}

void put_pcap_start(std::string& out, const Interface& interface, bool nanoseconds) {
  put(out, nanoseconds ? kPcapNanoseconds : kPcapMicroseconds);
  put(out, std::uint16_t{2});
  put(out, std::uint16_t{4});
  put(out, std::uint64_t{0});  // zone and accuracy: unused
  put(out, interface.snap_length);
  put(out, static_cast<std::uint32_t>(interface.link_type));
}

void put_pcap_head(std::string& out, const FrameHead& frame, bool nanoseconds) {
  const std::int64_t fraction = frame.ns % kNsPerSecond;
  put(out,
      PcapHead{.seconds = static_cast<std::uint32_t>(frame.ns / kNsPerSecond),
               .fraction = static_cast<std::uint32_t>(nanoseconds ? fraction : fraction / 1000),
               .captured = frame.captured,
               .wire_length = frame.wire_length});
}

}  // namespace lw::capture

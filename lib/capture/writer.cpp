// SPDX-License-Identifier: BSD-3-Clause
#include "capture/writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "capture/reader.h"

namespace lw::capture {
namespace {

constexpr std::size_t kFlushSize = 1 << 20;
constexpr std::size_t kMaxOption = 0xffff;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_padded(std::string& out, std::string_view bytes) {
  out.append(bytes).append(-bytes.size() & 3, '\0');
}

void put_option(std::string& out, std::uint16_t code, std::string_view value) {
  value = value.substr(0, kMaxOption);
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  put_padded(out, value);
}

void put_number_option(std::string& out, std::uint16_t code, std::uint64_t value) {
  put_option(out, code, {reinterpret_cast<const char*>(&value), sizeof value});
}

/// Appends a block with a padded body.
void put_block(std::string& out, std::uint32_t type, std::string_view body) {
  const auto size = static_cast<std::uint32_t>(body.size() + 12);
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
  put(body, std::uint32_t{0});  // end of options
  return body;
}

}  // namespace

Format format_for(std::string_view path) noexcept {
  return path.ends_with(".pcapng") ? Format::pcapng : Format::pcap;
}

Result<Writer> Writer::create(const std::string& path, Format format,
                              std::vector<Interface> interfaces, OutputFile::Mode mode) {
  const auto other_link = [&](const Interface& i) {
    return i.link_type != interfaces.front().link_type;
  };
  if (interfaces.empty()) return fail(fmt::format("{}: a capture needs an interface", path));
  if (format != Format::pcapng && std::ranges::any_of(interfaces, other_link)) {
    return fail(
        fmt::format("{}: a pcap file holds one link type; name it .pcapng to keep several", path));
  }
  auto file = OutputFile::open(path, mode, kFlushSize);
  if (!file) return std::unexpected(file.error());
  Writer writer(path == "-" ? "standard output" : path, std::move(*file), format,
                interfaces.size());
  writer.file_.pending().reserve(kFlushSize + (kFlushSize >> 2));
  writer.append_file_header(interfaces);
  return writer;
}

void Writer::append_file_header(const std::vector<Interface>& interfaces) {
  std::string& buffer = file_.pending();
  if (format_ == Format::pcapng) {
    put_block(buffer, kSectionHeaderBlock, section_body());
    for (const Interface& i : interfaces) put_block(buffer, kInterfaceBlock, interface_body(i));
    return;
  }
  put(buffer, format_ == Format::pcap ? kPcapNanoseconds : kPcapMicroseconds);
  put(buffer, std::uint16_t{2});
  put(buffer, std::uint16_t{4});
  put(buffer, std::uint64_t{0});  // zone and accuracy: unused
  put(buffer, interfaces.front().snap_length);
  put(buffer, static_cast<std::uint32_t>(interfaces.front().link_type));
}

void Writer::append_pcap(std::int64_t ns, Bytes bytes, std::uint32_t wire_length) {
  const std::int64_t fraction = ns % kNsPerSecond;
  std::string& buffer = file_.pending();
  put(buffer, static_cast<std::uint32_t>(ns / kNsPerSecond));
  put(buffer, static_cast<std::uint32_t>(format_ == Format::pcap ? fraction : fraction / 1000));
  put(buffer, static_cast<std::uint32_t>(bytes.size()));
  put(buffer, wire_length);
  buffer.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Writer::append_pcapng(std::int64_t ns, Bytes bytes, std::uint32_t wire_length,
                           std::uint32_t interface, std::string_view comment) {
  std::string& buffer = file_.pending();
  const std::size_t start = buffer.size();
  put(buffer, kEnhancedPacketBlock);
  put(buffer, std::uint32_t{0});  // placeholder for the length, which is set below
  put(buffer, interface);
  put(buffer, static_cast<std::uint32_t>(static_cast<std::uint64_t>(ns) >> 32));
  put(buffer, static_cast<std::uint32_t>(ns));
  put(buffer, static_cast<std::uint32_t>(bytes.size()));
  put(buffer, wire_length);
  put_padded(buffer, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!comment.empty()) {
    put_option(buffer, kOptionComment, comment);
    put(buffer, std::uint32_t{0});
  }
  const auto size = static_cast<std::uint32_t>(buffer.size() - start + 4);
  put(buffer, size);
  std::memcpy(buffer.data() + start + 4, &size, sizeof size);
}

void Writer::write_statistics(std::uint32_t interface, Instant stamp, std::uint64_t received,
                              std::uint64_t dropped) {
  if (format_ != Format::pcapng || interface >= interfaces_) return;
  const auto ns = static_cast<std::uint64_t>(to_ns(stamp));
  std::string body;
  put(body, interface);
  put(body, static_cast<std::uint32_t>(ns >> 32));
  put(body, static_cast<std::uint32_t>(ns));
  put_number_option(body, kOptionReceived, received);
  put_number_option(body, kOptionDropped, dropped);
  put(body, std::uint32_t{0});  // end of options
  put_block(file_.pending(), kStatisticsBlock, body);
}

Result<void> Writer::write(Instant stamp, Bytes bytes, std::uint32_t wire_length,
                           std::uint32_t interface, std::string_view comment) {
  const std::int64_t ns = to_ns(stamp);
  wire_length = std::max(wire_length, static_cast<std::uint32_t>(bytes.size()));
  if (interface >= interfaces_) {
    return fail(fmt::format("{}: no interface {}, there are {}", name_, interface, interfaces_));
  }
  if (format_ == Format::pcapng) {
    append_pcapng(ns, bytes, wire_length, interface, comment);
  } else {
    if (ns < 0 || ns / kNsPerSecond > 0xffffffff) {
      return fail(
          fmt::format("{}: a pcap file's stamps go from 1970 to 2106, not to {} ns", name_, ns));
    }
    append_pcap(ns, bytes, wire_length);
  }
  file_.end_record();
  return {};
}

}  // namespace lw::capture

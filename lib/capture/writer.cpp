// SPDX-License-Identifier: BSD-3-Clause
#include "capture/writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "capture/reader.h"
#include "core/names.h"

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

/// A block around a padded body.
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
                              std::vector<Interface> interfaces) {
  const auto other_link = [&](const Interface& i) {
    return i.link_type != interfaces.front().link_type;
  };
  if (auto plain = check_plain_name(path); !plain) return std::unexpected(plain.error());
  if (interfaces.empty()) return fail(fmt::format("{}: a capture needs an interface", path));
  if (format != Format::pcapng && std::ranges::any_of(interfaces, other_link)) {
    return fail(
        fmt::format("{}: a pcap file holds one link type; name it .pcapng to keep several", path));
  }
  Writer writer;
  writer.name_ = path == "-" ? "stdout" : path;
  writer.format_ = format;
  writer.interfaces_ = interfaces.size();
  writer.fd_ = path == "-" ? STDOUT_FILENO
                           : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer.fd_ < 0) {
    return fail(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)),
                ExitCode::environment);
  }
  writer.buffer_.reserve(kFlushSize + (kFlushSize >> 2));
  writer.append_file_header(interfaces);
  return writer;
}

Writer::Writer(Writer&& other) noexcept { *this = std::move(other); }

Writer& Writer::operator=(Writer&& other) noexcept {
  if (this == &other) return *this;
  (void)close();
  name_ = std::move(other.name_);
  fd_ = std::exchange(other.fd_, -1);
  format_ = other.format_;
  interfaces_ = other.interfaces_;
  buffer_ = std::exchange(other.buffer_, {});
  return *this;
}

Writer::~Writer() { (void)close(); }

void Writer::append_file_header(const std::vector<Interface>& interfaces) {
  if (format_ == Format::pcapng) {
    put_block(buffer_, kSectionHeaderBlock, section_body());
    for (const Interface& i : interfaces) put_block(buffer_, kInterfaceBlock, interface_body(i));
    return;
  }
  put(buffer_, format_ == Format::pcap ? kPcapNanoseconds : kPcapMicroseconds);
  put(buffer_, std::uint16_t{2});
  put(buffer_, std::uint16_t{4});
  put(buffer_, std::uint64_t{0});  // zone and accuracy: unused
  put(buffer_, interfaces.front().snap_length);
  put(buffer_, static_cast<std::uint32_t>(interfaces.front().link_type));
}

void Writer::append_pcap(std::int64_t ns, Bytes bytes, std::uint32_t wire_length) {
  const std::int64_t fraction = ns % kNsPerSecond;
  put(buffer_, static_cast<std::uint32_t>(ns / kNsPerSecond));
  put(buffer_, static_cast<std::uint32_t>(format_ == Format::pcap ? fraction : fraction / 1000));
  put(buffer_, static_cast<std::uint32_t>(bytes.size()));
  put(buffer_, wire_length);
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Writer::append_pcapng(std::int64_t ns, Bytes bytes, std::uint32_t wire_length,
                           std::uint32_t interface, std::string_view comment) {
  const std::size_t start = buffer_.size();
  put(buffer_, kEnhancedPacketBlock);
  put(buffer_, std::uint32_t{0});  // the length, known below
  put(buffer_, interface);
  put(buffer_, static_cast<std::uint32_t>(static_cast<std::uint64_t>(ns) >> 32));
  put(buffer_, static_cast<std::uint32_t>(ns));
  put(buffer_, static_cast<std::uint32_t>(bytes.size()));
  put(buffer_, wire_length);
  put_padded(buffer_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!comment.empty()) {
    put_option(buffer_, kOptionComment, comment);
    put(buffer_, std::uint32_t{0});
  }
  const auto size = static_cast<std::uint32_t>(buffer_.size() - start + 4);
  put(buffer_, size);
  std::memcpy(buffer_.data() + start + 4, &size, sizeof size);
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
  put_block(buffer_, kStatisticsBlock, body);
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
  return buffer_.size() < kFlushSize ? Result<void>{} : flush();
}

Result<void> Writer::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      buffer_.clear();  // lost; don't report it again
      return fail(fmt::format("{}: cannot be written: {}", name_, std::strerror(errno)),
                  ExitCode::environment);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return {};
}

Result<void> Writer::close() {
  if (fd_ < 0) return {};
  Result<void> flushed = flush();
  if (fd_ != STDOUT_FILENO && ::close(fd_) != 0 && flushed) {
    flushed = fail(fmt::format("{}: cannot be written: {}", name_, std::strerror(errno)),
                   ExitCode::environment);
  }
  fd_ = -1;
  return flushed;
}

}  // namespace lw::capture

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/reader.h"

namespace lw::capture::test {

/// Builds a capture byte by byte in a chosen byte order, from the formats' texts
/// (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng) and not by way of our writer.
class FileBuilder {
 public:
  explicit FileBuilder(bool big_endian) : big_(big_endian) {}

  FileBuilder& u16(std::uint64_t v) { return number(v, 2); }
  FileBuilder& u32(std::uint64_t v) { return number(v, 4); }
  FileBuilder& u64(std::uint64_t v) { return number(v, 8); }
  FileBuilder& raw(std::string_view bytes) {
    text_.append(bytes);
    return *this;
  }
  FileBuilder& padded(std::string_view bytes) {
    raw(bytes);
    text_.append((4 - bytes.size() % 4) % 4, '\0');
    return *this;
  }
  FileBuilder& option(unsigned code, std::string_view value) {
    return u16(code).u16(value.size()).padded(value);
  }
  FileBuilder& block(std::uint32_t type, const FileBuilder& body) {
    return u32(type).u32(body.text_.size() + 12).raw(body.text_).u32(body.text_.size() + 12);
  }
  [[nodiscard]] FileBuilder body() const { return FileBuilder(big_); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Bytes bytes() const { return std::as_bytes(std::span(text_)); }

 private:
  FileBuilder& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      text_ += static_cast<char>(value >> 8 * (big_ ? size - 1 - i : i) & 0xff);
    }
    return *this;
  }

  bool big_;
  std::string text_;
};

/// A record whose bytes are its own.
struct Kept {
  std::string bytes;
  std::uint32_t wire_length;
  std::int64_t stamp_ns;
  std::uint32_t interface;
  std::uint64_t offset;
  std::string comment;
};

/// Everything a file yields: its records, then how it ended (empty: cleanly).
struct Yield {
  std::vector<Kept> records;
  std::string error;
};

inline Yield read_all(Reader& reader) {
  Yield yield;
  for (;;) {
    const auto next = reader.next();
    if (!next) yield.error = next.error().message;
    if (!next || !*next) return yield;
    const Record& r = **next;
    yield.records.push_back(
        {std::string(reinterpret_cast<const char*>(r.bytes.data()), r.bytes.size()), r.wire_length,
         to_ns(r.stamp), r.interface, r.offset, std::string(r.comment)});
  }
}

inline Yield read_all(Bytes file) {
  auto reader = Reader::from_memory(file);
  if (!reader) return {{}, reader.error().message};
  return read_all(*reader);
}

}  // namespace lw::capture::test

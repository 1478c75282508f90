// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a capture file: pcap and pcapng, either byte order, plain or compressed.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "capture/reader.h"
#include "capture/unpack.h"

namespace {

using namespace lw;

/// Touches all that a record says, so that a sanitizer sees what isn't there.
std::uint64_t read_all(const capture::Reader& reader, const capture::Record& record) {
  std::uint64_t sum = record.wire_length + record.comment.size();
  for (const std::byte b : record.bytes) sum += std::to_integer<std::uint64_t>(b);
  for (const char c : record.comment) sum += static_cast<unsigned char>(c);
  return sum + static_cast<std::uint64_t>(reader.interfaces().at(record.interface).link_type);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span file{reinterpret_cast<const std::byte*>(data), size};
  auto reader = capture::Reader::from_memory(file);
  if (!reader) return 0;
  const bool packed = capture::unpacker_for(file) != nullptr;  // offsets are of the unpacked file
  std::uint64_t before = 0;
  for (;;) {
    const auto next = reader->next();
    if (!next || !*next) return 0;
    const capture::Record& record = **next;
    volatile std::uint64_t sum = read_all(*reader, record);
    static_cast<void>(sum);
    // Records come in the file's order, within it, and never shorter than they say.
    const bool sound = record.offset >= before && (packed || record.offset < size) &&
                       record.wire_length >= record.bytes.size();
    if (!sound) std::abort();
    before = record.offset + 1;
  }
}

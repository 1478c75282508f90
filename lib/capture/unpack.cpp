// SPDX-License-Identifier: BSD-3-Clause
#include "capture/unpack.h"

#include <algorithm>
#include <array>
#include <new>
#include <zlib.h>
#include <zstd.h>

namespace lw::capture {
namespace {

template <std::size_t kSize>
bool begins_with(Bytes start, const std::array<unsigned char, kSize>& magic) {
  const auto equal = [](std::byte a, unsigned char b) { return std::to_integer<int>(a) == b; };
  return start.size() >= kSize && std::ranges::equal(start.first(kSize), magic, equal);
}

/// A file of one or more consecutive members. (RFC 1952, 2.2)
class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() {
    constexpr int kLargestWindow = 15, kGzipOnly = 16;
    if (inflateInit2(&stream_, kLargestWindow + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipUnpacker(const GzipUnpacker&) = delete;
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  Step step(Bytes in, std::span<std::byte> out) override;
  [[nodiscard]] bool may_end() const noexcept override { return may_end_; }
  [[nodiscard]] std::string_view format() const noexcept override { return "gzip"; }

 private:
  z_stream stream_{};
  bool may_end_ = false;
};

Unpacker::Step GzipUnpacker::step(Bytes in, std::span<std::byte> out) {
  constexpr std::size_t kMost = 1u << 30;  // zlib counts in 32 bits
  if (in.empty()) return {};
  if (may_end_) inflateReset(&stream_);
  may_end_ = false;
  in = in.first(std::min(in.size(), kMost));
  out = out.first(std::min(out.size(), kMost));
  stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
  stream_.avail_in = static_cast<uInt>(in.size());
  stream_.next_out = reinterpret_cast<Bytef*>(out.data());
  stream_.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream_, Z_NO_FLUSH);
  may_end_ = result == Z_STREAM_END;
  Step step{in.size() - stream_.avail_in, out.size() - stream_.avail_out};
  const bool fine = result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
  if (!fine) step.problem = stream_.msg ? stream_.msg : zError(result);
  return step;
}

/// A file of one or more consecutive frames. (RFC 8878, 3)
class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    wanted_ = ZSTD_initDStream(stream_);
  }
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ~ZstdUnpacker() override { ZSTD_freeDStream(stream_); }

  Step step(Bytes in, std::span<std::byte> out) override;
  [[nodiscard]] bool may_end() const noexcept override { return may_end_; }
  [[nodiscard]] std::string_view format() const noexcept override { return "zstd"; }

 private:
  ZSTD_DStream* stream_;
  std::size_t wanted_ = 0;  // bytes that the decoder expects next
  bool may_end_ = false;
};

/// Unpacks one block at a time. With several, the decoder does not say how many bytes it produced
/// before a damaged block.
Unpacker::Step ZstdUnpacker::step(Bytes in, std::span<std::byte> out) {
  ZSTD_inBuffer from{in.data(), std::min(in.size(), std::max<std::size_t>(wanted_, 1)), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  const std::size_t result = ZSTD_decompressStream(stream_, &to, &from);
  Step step{from.pos, to.pos};
  if (ZSTD_isError(result)) {
    step.problem = ZSTD_getErrorName(result);
    return step;
  }
  // A call without input and output says nothing about the frame's end.
  if (step.taken + step.given > 0) may_end_ = result == 0;
  wanted_ = result;
  return step;
}

}  // namespace

std::unique_ptr<Unpacker> unpacker_for(Bytes start) {
  if (begins_with<2>(start, {0x1f, 0x8b})) return std::make_unique<GzipUnpacker>();
  if (begins_with<4>(start, {0x28, 0xb5, 0x2f, 0xfd})) return std::make_unique<ZstdUnpacker>();
  // A skippable frame, with which files of pzstd begin: 0x50 to 0x5f, 2a 4d 18. (RFC 8878, 3.1.2)
  if (start.size() >= 4 && (start[0] & std::byte{0xf0}) == std::byte{0x50} &&
      begins_with<3>(start.subspan(1), {0x2a, 0x4d, 0x18}))
    return std::make_unique<ZstdUnpacker>();
  return nullptr;
}

}  // namespace lw::capture

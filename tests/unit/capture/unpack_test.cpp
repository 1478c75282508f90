// SPDX-License-Identifier: BSD-3-Clause
#include "capture/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/capture/file_builder.h"

namespace lw::capture::test {
namespace {

using testing::HasSubstr;

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

/// A pcap file of records of one size, whose bytes do not compress to nothing.
std::string capture_of(std::size_t records, std::size_t size) {
  FileBuilder file(false);
  file.u32(kPcapNanoseconds).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(kLinkTypeEthernet);
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < records; ++i) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24 & 0x3f);
    file.u32(i).u32(i).u32(size).u32(size).raw(bytes);
  }
  return file.text();
}

Yield read_text(std::string_view file) { return read_all(std::as_bytes(std::span(file))); }

std::vector<std::string> bytes_of(const Yield& yield) {
  std::vector<std::string> all;
  for (const Kept& kept : yield.records) all.push_back(kept.bytes);
  return all;
}

using Pack = std::string (*)(std::string_view);
class Unpack : public testing::TestWithParam<Pack> {};
INSTANTIATE_TEST_SUITE_P(Formats, Unpack, testing::Values(gzip, zstd));

TEST_P(Unpack, AFileReadsAsItsPlainForm) {
  const std::string plain = capture_of(3000, 700);  // several read()s and pieces
  const Yield wanted = read_text(plain);
  const auto pack = GetParam();
  const std::string_view view = plain;
  const std::string empty_behind = pack(view) + pack("");
  for (const std::string& packed :
       {pack(view), pack(view.substr(0, 1000)) + pack(view.substr(1000)), empty_behind}) {
    const Yield yield = read_text(packed);
    EXPECT_EQ(yield.error, "");
    EXPECT_EQ(bytes_of(yield), bytes_of(wanted));
    EXPECT_EQ(yield.records.back().offset, wanted.records.back().offset);
  }
}

TEST(UnpackZstd, AFrameThatIsToBeSkippedIsSkipped) {
  const std::string skipped("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);
  EXPECT_EQ(read_text(skipped + zstd(capture_of(2, 60))).records.size(), 2u);
}

TEST_P(Unpack, ATruncatedFileGivesItsFirstFramesAndAnError) {
  const std::string packed = GetParam()(capture_of(5, 60));
  const Yield wanted = read_text(packed);
  ASSERT_EQ(wanted.records.size(), 5u);
  for (std::size_t size = 4; size < packed.size(); ++size) {
    const Yield yield = read_text(std::string_view(packed).substr(0, size));
    EXPECT_THAT(yield.error, HasSubstr("the file ends within it, at byte "));
    for (std::size_t i = 0; i < yield.records.size(); ++i)
      ASSERT_EQ(yield.records[i].bytes, wanted.records[i].bytes);
  }
}

TEST_P(Unpack, FramesBeforeADamageAreRead) {
  const std::string plain = capture_of(10000, 300);
  const Yield wanted = read_text(plain);
  std::string packed = GetParam()(plain);
  packed.resize(packed.size() * 9 / 10);
  Yield yield = read_text(packed);
  EXPECT_THAT(yield.error,
              HasSubstr("stream cannot be unpacked: the file ends within it, at byte "));
  EXPECT_GT(yield.records.size(), 8000u);
  EXPECT_EQ(bytes_of(yield).back(), wanted.records[yield.records.size() - 1].bytes);
  packed.replace(packed.size() - 40000, 40000, 40000, '\xff');
  yield = read_text(packed);
  EXPECT_THAT(yield.error, HasSubstr("of the unpacked file"));
  EXPECT_GT(yield.records.size(), 7000u);
}

/// gzip's CRC and zstd's checksum are at the end: frames may be wrong before the error comes.
TEST_P(Unpack, AnyChangedByteIsAnErrorOrChangesNothing) {
  std::string packed = GetParam()(capture_of(5, 60));
  const Yield wanted = read_text(packed);
  for (std::size_t i = 4; i < packed.size(); ++i) {
    packed[i] = static_cast<char>(packed[i] ^ 0x55);
    const Yield yield = read_text(packed);
    EXPECT_TRUE(!yield.error.empty() || bytes_of(yield) == bytes_of(wanted)) << i;
    packed[i] = static_cast<char>(packed[i] ^ 0x55);
  }
}

TEST_P(Unpack, WhatFollowsTheStreamIsDamage) {
  const Yield yield = read_text(GetParam()(capture_of(5, 60)) + "more bytes");
  EXPECT_EQ(yield.records.size(), 5u);
  EXPECT_THAT(yield.error, HasSubstr("stream cannot be unpacked: "));
}

}  // namespace
}  // namespace lw::capture::test

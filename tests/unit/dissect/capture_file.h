// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/writer.h"
#include "dissect/fields/frame_source.h"
#include "support/captures.h"
#include "support/temporary.h"

namespace lw::dissect::test {

/// Real frames of a capture in pcaps/rxe.
inline std::vector<lw::test::CapturedFrame> real_frames(const std::string& name) {
  return lw::test::frames_of(lw::test::source_root() / "pcaps" / "rxe" / name);
}

/// A capture that a test makes of real frames, at stamps of its choosing. Each has a file of its
/// own: a file that was read is never an output of the same process.
class CaptureFile {
 public:
  explicit CaptureFile(const std::string& name, std::vector<capture::Interface> interfaces = {{}})
      : path_(lw::test::temporary_folder() + std::to_string(++files_) + name),
        writer_(capture::Writer::create(path_, capture::Format::pcapng, std::move(interfaces))
                    .value()) {}

  CaptureFile& add(std::int64_t stamp_ns, std::span<const std::byte> bytes,
                   std::size_t wire_length = 0, std::uint32_t interface = 0) {
    EXPECT_TRUE(writer_.write(instant_from_ns(stamp_ns), bytes,
                              static_cast<std::uint32_t>(wire_length), interface));
    return *this;
  }
  /// Everything so far is in the file.
  const std::string& path() {
    EXPECT_TRUE(writer_.flush());
    return path_;
  }

 private:
  static inline int files_ = 0;
  std::string path_;
  capture::Writer writer_;
};

}  // namespace lw::dissect::test

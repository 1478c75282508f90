// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/names.h"

namespace lw {
namespace {

TEST(OutputName, NobodyIsDeceivedByAPlainFileOfACompressedOnesName) {
  for (const auto* path : {"a.pcap", "a.pcapng", "-", "", "gz", "a.gz/b", "a.GZ.pcap", "/dev/null"})
    EXPECT_TRUE(check_plain_name(path)) << path;
  for (const auto* path : {"a.pcap.gz", "a.pcapng.zst", "x/a.xz", "a.bz2", "a.jsonl.lz4"}) {
    const auto checked = check_plain_name(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().exit, ExitCode::usage);
    EXPECT_THAT(checked.error().message, testing::StartsWith(path));
  }
  EXPECT_EQ(check_plain_name("out/a.pcap.gz").error().message,
            "out/a.pcap.gz: files are written plain, not compressed: name it out/a.pcap, then run "
            "`gzip out/a.pcap`");
}

}  // namespace
}  // namespace lw

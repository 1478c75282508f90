// SPDX-License-Identifier: BSD-3-Clause
#include "core/output_name.h"

namespace lw {
namespace {

struct Compression {
  std::string_view suffix, program;
};

constexpr Compression kCompressions[] = {
    {".gz", "gzip"}, {".zst", "zstd"}, {".xz", "xz"}, {".bz2", "bzip2"}, {".lz4", "lz4"}};

}  // namespace

Result<void> check_plain_name(std::string_view path) {
  for (const auto& [suffix, program] : kCompressions) {
    if (!path.ends_with(suffix)) continue;
    const std::string plain(path.substr(0, path.size() - suffix.size()));
    return fail(std::string(path) + ": files are written plain, not compressed: name it " + plain +
                ", then run `" + std::string(program) + " " + plain + "`");
  }
  return {};
}

}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#include "app/rotation_options.h"

#include <fmt/format.h>

#include "core/limits.h"

namespace lw::app {
namespace {

Parsed<std::uint64_t> read_file_size(std::string_view text) {
  const auto size = parse_bytes(text);
  if (!size || *size >= kSmallestFileInTurn) return size;
  return std::unexpected(fmt::format("expected a size of at least {}, found \"{}\"",
                                     format_bytes(static_cast<double>(kSmallestFileInTurn)), text));
}

}  // namespace

void add_rotation_options(Options& list, Rotation& rotation, std::string_view of) {
  list.add("--rotate", parsed(read_file_size, rotation.size), "SIZE",
           fmt::format("most bytes of a file: {} goes into several, NAME-00001, NAME-00002, ...: "
                       "500MB, 1GB",
                       of))
      .defaults_to("one file");
  list.add("--ring",
           parsed([](std::string_view text) { return read_whole(text, 1, kMostFilesInTurn); },
                  rotation.files),
           "N", "keep the last N of these files, and remove earlier ones")
      .defaults_to("all");
}

Result<void> check_rotation(const Rotation& rotation, bool has_file, std::string_view of) {
  if (rotation.files > 0 && rotation.size == 0)
    return fail("--ring: --rotate SIZE is needed too: the ring is of its files");
  if (rotation.size > 0 && !has_file)
    return fail(
        fmt::format("--rotate: {} FILE is needed too: it is what goes into several files", of));
  return {};
}

}  // namespace lw::app

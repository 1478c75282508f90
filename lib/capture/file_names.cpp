// SPDX-License-Identifier: BSD-3-Clause
#include "capture/file_names.h"

#include <fmt/format.h>

namespace lw::capture {
namespace {

constexpr std::string_view kPacked = ".zst";

std::string_view without_packing(std::string_view path) noexcept {
  return path.substr(0, path.size() - (is_packed(path) ? kPacked.size() : 0));
}

}  // namespace

bool is_packed(std::string_view path) noexcept { return path.ends_with(kPacked); }

Format format_for(std::string_view path) noexcept {
  return without_packing(path).ends_with(".pcapng") ? Format::pcapng : Format::pcap;
}

std::string numbered_name(std::string_view path, std::uint64_t number) {
  const std::string_view plain = without_packing(path);
  const std::size_t name = plain.rfind('/') + 1;  // 0 without a folder
  const std::size_t dot = plain.rfind('.');
  const std::size_t stem = dot == std::string_view::npos || dot <= name ? plain.size() : dot;
  return fmt::format("{}-{:05}{}", path.substr(0, stem), number, path.substr(stem));
}

}  // namespace lw::capture

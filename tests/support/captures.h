// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/reader.h"

namespace lw::test {

/// Returns the root of the source tree, which the build passes to the tests.
inline std::filesystem::path source_root() {
  const char* root = std::getenv("LONGWIRE_SOURCE");
  return root ? root : ".";
}

/// A frame that owns its bytes.
struct CapturedFrame {
  std::string file;
  std::size_t number = 0;  // from 1, as in Wireshark
  std::vector<std::byte> bytes;
  std::size_t wire_length = 0;
};

/// Returns the captures in a folder, sorted; empty if the folder does not exist.
inline std::vector<std::filesystem::path> captures_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pcap") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// Returns our captures of whole frames with right ICRCs: of Linux soft-RoCE, and composed after
/// network cards.
inline std::vector<std::filesystem::path> own_captures() {
  auto files = captures_in(source_root() / "pcaps" / "rxe");
  const auto composed = captures_in(source_root() / "pcaps" / "nic");
  files.insert(files.end(), composed.begin(), composed.end());
  return files;
}

/// Returns the captures in the folder of LONGWIRE_CAPTURES; none where it is not set. Requires that
/// it has some.
inline std::vector<std::filesystem::path> further_captures() {
  const char* folder = std::getenv("LONGWIRE_CAPTURES");
  if (folder == nullptr || *folder == '\0') return {};
  auto files = captures_in(folder);
  if (files.empty())
    throw std::runtime_error("LONGWIRE_CAPTURES: no *.pcap in " + std::string(folder));
  return files;
}

/// Returns all frames of a capture. Requires that the capture is valid.
inline std::vector<CapturedFrame> frames_of(const std::filesystem::path& file) {
  auto reader = capture::Reader::open(file.string());
  if (!reader) throw std::runtime_error(reader.error().message);
  std::vector<CapturedFrame> frames;
  while (true) {
    const auto record = reader->next();
    if (!record) throw std::runtime_error(record.error().message);
    if (!*record) return frames;
    frames.push_back({file.filename().string(),
                      frames.size() + 1,
                      {(*record)->bytes.begin(), (*record)->bytes.end()},
                      (*record)->wire_length});
  }
}

}  // namespace lw::test

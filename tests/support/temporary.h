// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace lw::test {

/// Returns an empty folder of this process, which goes when it ends: several users and clones run
/// the same tests at once. Ends with "/".
inline const std::string& temporary_folder() {
  struct Folder {
    Folder() {
      path = (std::filesystem::temp_directory_path() / "longwire-XXXXXX").string();
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder " + path);
      path += '/';
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path;
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace lw::test

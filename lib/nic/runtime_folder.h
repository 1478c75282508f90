// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lw::nic {

/// DPDK's folder of this process, "/run/dpdk/longwire-1234". It is locked as long as the process
/// lives, and notes which interfaces the process has set down: a process that was killed leaves it
/// behind, and the next one reads it.
class RuntimeFolder {
 public:
  static constexpr std::string_view kPrefix = "longwire-";

  RuntimeFolder() = default;
  /// Locks `path`, which exists.
  explicit RuntimeFolder(std::filesystem::path path);
  RuntimeFolder(const RuntimeFolder&) = delete;
  RuntimeFolder& operator=(const RuntimeFolder&) = delete;
  /// Removes the folder.
  ~RuntimeFolder();

  /// Notes that an interface of this network namespace is down by this process, or no longer.
  void note_down(const std::string& interface, bool down) const noexcept;

  /// Removes the folders of processes that no longer live beside that of this process. Returns a
  /// sentence for each interface that one of them has set down and that is still down.
  [[nodiscard]] std::vector<std::string> remove_others() const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes `folder`/longwire-XXXXXX of this user, each with the folders of DPDK in it, if the
/// processes that used them no longer live.
void remove_private_folders(const std::filesystem::path& folder);

}  // namespace lw::nic

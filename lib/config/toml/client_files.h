// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/quantity.h"

namespace lw::config {

/// The files that a remote client may name, in a request or in a profile that it loads: those below
/// one folder of the operator's choice, or none. Any thread.
///
/// A value or an edit of a client points to it (Value::only), also when a scenario applies the
/// value later. Nothing that such a value names is opened but by read().
class ClientFiles {
 public:
  /// No file.
  ClientFiles() = default;
  /// The files below `folder`. Error (usage): there is no such folder.
  static Result<ClientFiles> below(const std::string& folder);

  /// Returns the path of a file that a client names. A relative name starts at `from`, the folder
  /// of the profile, if it then is below the client's folder; otherwise at the client's folder.
  [[nodiscard]] std::string path_of(const std::filesystem::path& from,
                                    const std::string& name) const;

  /// Reads a file of at most kMostProfileBytes bytes (config/limits.h). Links and `..`
  /// do not lead out of the folder. Errors do not have the path, which has the operator's folder;
  /// the error is the same for any file that may not be read, or does not exist.
  [[nodiscard]] Result<std::string> read(const std::string& path) const;

 private:
  [[nodiscard]] std::filesystem::path inside(const std::filesystem::path& path) const;

  std::filesystem::path folder_;  // absolute; empty: no file
};

/// A file that a client names, or the operator: then `only` is null, and it may be any file.
struct FileName {
  std::string text;
  const ClientFiles* only = nullptr;
};

/// Returns what a remote client may know of an error in a file's text: "line 3", or nothing.
std::string without_text(const std::string& error);

}  // namespace lw::config

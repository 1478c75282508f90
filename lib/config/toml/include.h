// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/toml/table.h"
#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// Replaces the key `include` of a profile's root (a file, or a list of files) by the keys of these
/// files, which may include others, up to 8 deep and 64 in all. A file is relative to the folder of
/// the file that includes it. The keys of the including file win:
/// - a table, [path] or queue.rate, keeps the included keys that the including file doesn't have;
/// - a [[table]] changes the included one of the same `name`, in that one's place; all others of
///   the including file come before the included ones;
/// - any other value, also {...} in braces and an array, replaces the included one.
/// A later file of a list wins over an earlier one.
///
/// `diagnostics` gets the names of the files. Errors (usage), with file:line:column: a file is
/// missing or not TOML, includes itself, or is too deep.
Result<void> include_files(Value& root, Diagnostics& diagnostics);

}  // namespace lw::config

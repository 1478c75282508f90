// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/toml/table.h"
#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// Replaces the key `include` of a profile's root (a file, or a list of files) by the keys of these
/// files. Included files may include others, up to 8 levels deep and 64 files in total. A file is
/// relative to the folder of the file that includes it. The keys of the including file take
/// precedence:
/// - a table, such as [path] or queue.rate, keeps the included keys that the including file lacks;
/// - a [[table]] changes the included one with the same `name`, at its position; other tables of
///   the including file come before the included ones;
/// - any other value, including {...} in braces and arrays, replaces the included one.
/// Later files of a list take precedence over earlier ones.
///
/// Adds the names of the files to `diagnostics`. Errors (usage), with file:line:column: a file is
/// missing or not TOML, includes itself, or is nested too deeply.
Result<void> include_files(Value& root, Diagnostics& diagnostics);

}  // namespace lw::config
